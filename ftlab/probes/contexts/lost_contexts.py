"""Settings that belong to a thread, and are lost where the model is called elsewhere.

Who calls whom: `tap_starts` tells of each thread, call of a pool and task that starts;
what its starter has is kept in a `_Started`. Where the model is called within it, what
it has is compared with that.
"""

import contextvars
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from typing import Any, ClassVar, TypeVar

import torch

from ftlab.probes.contexts.cuda_start import watch_cuda_start
from ftlab.probes.contexts.thread_state import (
    AUTOCAST,
    State,
    autocast_depth,
    in_words,
    thread_state,
)
from ftlab.probes.contexts.users_lines import users_line
from ftlab.probes.dynamo_private import leave_to_python
from ftlab.probes.graph.module_hook import ModuleHook, is_no_training
from ftlab.probes.holding.walk import is_library, loaded_modules
from ftlab.probes.own_time import own_time
from ftlab.probes.probe import Moment, Probe, Reading
from ftlab.probes.subject import Subject
from ftlab.probes.taps.forward import innermost
from ftlab.probes.taps.starts import StartKind, tap_starts
from ftlab.records.event import Event
from ftlab.records.handle import Handle
from ftlab.records.lost_context import LostContext
from ftlab.records.step import Column

T = TypeVar("T")

_MISSING = object()


class LostContexts(Probe):
    """Counts calls of the model in threads and tasks, and tells what they lack."""

    columns: ClassVar[tuple[Column, ...]] = (
        Column("calls_elsewhere", "1", "Calls of the model in what the loop started."),
    )

    def attach(self, subject: Subject) -> Iterable[Handle]:
        """See what starts, and whether the model is called in it."""
        self.here = _Here()
        self.holder = ""
        self._calls = 0
        self._error: Exception | None = None
        self._known: set[tuple[str, ...]] = set()
        self._new: list[LostContext] = []
        watch_cuda_start()
        yield tap_starts(self._begin, self._around_workers)
        model = innermost(subject.model)
        if not isinstance(model, torch.nn.TransformerEncoderLayer):
            hook = _CallHook(self._see_call, model, "")
            yield model.register_forward_pre_hook(hook)

    def on_batch(self, moment: Moment, inputs: Mapping[str, Any]) -> Iterable[Reading]:
        """Tell what was found since."""
        if self._error is not None:
            raise self._error
        if self._new:
            step = moment.step
            yield Reading(torch.zeros(0), lambda _: self.on_unfinished(step))

    def on_unfinished(self, step: int) -> Iterable[Event]:
        """Tell it even if no further batch comes."""
        while self._new:
            found = self._new.pop(0)
            words = f"{found.kind} {found.name}: {found.was}, then {found.now}"
            yield Event("context", step, time.time(), words, asdict(found))

    def on_close(self, moment: Moment) -> dict[str, float]:
        """Give the calls of a step."""
        calls, self._calls = self._calls, 0
        return {"calls_elsewhere": float(calls)}

    def _begin(self, kind: StartKind, name: str) -> "_Started | None":
        return self._safely(lambda: _Started(self, kind, name))

    def _around_workers(
        self, original: Any, iterator: Any, loader: Any, *args: Any, **kwargs: Any
    ) -> None:
        original(iterator, loader, *args, **kwargs)
        self._safely(lambda: self._see_workers(loader))

    def _see_workers(self, loader: Any) -> None:
        """Tell what a worker lacks: one that is forked nothing, another one all."""
        context = loader.multiprocessing_context or torch.multiprocessing
        if context.get_start_method() == "fork":
            return
        name, usual, used = type(loader.dataset).__name__, torch.float32, users_line()
        known = own_variables(contextvars.copy_context())
        lost = {f"variable {name}": (f"({kind})", "unset") for name, _, kind in known}
        if torch.get_default_dtype() != usual:
            lost["default dtype"] = str(torch.get_default_dtype()), str(usual)
        for what, (was, now) in lost.items():
            words = f"{what} {was}", f"{what} {now}"
            self._find(LostContext("loader's worker", name, what, *words, used, used))

    def _see_call(self, path: str, inputs: Any) -> None:
        if self.here.started is not None:
            self._safely(lambda: self._compare(self.here.started))

    def _compare(self, started: Any) -> None:
        self._calls += 1
        now, called = thread_state(), users_line()
        lost = {
            what: (in_words(what, was), in_words(what, lost))
            for what, (was, lost) in started.lost.items()
            if now[what] == lost
        }
        if autocast_depth() > started.depth and started.kind != "task":
            lost.pop(AUTOCAST, None)  # it has set it itself, to what it is
        for name, variable, kind in started.variables:
            if variable.get(_MISSING) is _MISSING:
                what = f"variable {name}"
                lost[what] = f"{what} ({kind})", f"{what} unset"
        for what, words in lost.items():
            kind, name, at = started.kind, started.name, started.at
            found = LostContext(kind, name, what, *words, at, called, started.holder)
            self._find(found)

    def _find(self, found: LostContext) -> None:
        """Tell of each kind of loss once."""
        key = (found.kind, found.what, found.started, found.holder)
        if key not in self._known:
            self._known.add(key)
            self._new.append(found)

    def _safely(self, see: Callable[[], T]) -> T | None:
        """Keep an error of ours for the next step: who starts something must not."""
        try:
            with own_time:
                return see()
        except Exception as error:  # noqa: BLE001  raised where it drops the probe only
            self._error = error
            return None


class _CallHook(ModuleHook):
    """Is called in the state that the model is called in, before its forward."""

    __slots__ = ()

    def __call__(self, module: torch.nn.Module, args: Any, output: Any = None) -> None:
        if torch.compiler.is_compiling() or id(module) != self._module_id:
            return
        if not is_no_training():
            self._tell(self._path, args)


leave_to_python(_CallHook.__call__, callees=True)


class _Here(threading.local):
    """What this thread runs."""

    started: "_Started | None" = None


class _Started:
    """What a starter had, and what was otherwise where the started began or went on."""

    def __init__(self, probe: Any, kind: StartKind, name: str) -> None:
        self.kind, self.name, self.at = kind, name, users_line()
        self.lost: dict[str, tuple[Any, Any]] = {}
        self.holder = ""
        self.depth = 0
        self.variables = (
            own_variables(contextvars.copy_context()) if kind != "task" else ()
        )
        self._state: State = thread_state()
        self._probe = probe

    def call(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Run a part of it."""
        here, probe, began = self._probe.here, self._probe, thread_state()
        self.depth = autocast_depth()
        self.lost = {
            what: (was, began[what])
            for what, was in self._state.items()
            if what in began and began[what] != was
        }
        self.holder = probe.holder if self.lost and self.kind == "task" else ""
        before, here.started = here.started, self
        try:
            return function(*args, **kwargs)
        finally:
            here.started = before
            ended = thread_state()
            own = {what: now for what, now in ended.items() if now != began.get(what)}
            self._state = {**self._state, **own}
            if own and self.kind == "task":
                probe.holder = self.name


def own_variables(
    context: contextvars.Context,
) -> tuple[tuple[str, contextvars.ContextVar[Any], str], ...]:
    """Return name, variable and type of value of those that the user's modules have."""
    if not context:
        return ()
    known = {
        id(value): name
        for module in loaded_modules()
        if not is_library(module.__name__)
        for name, value in tuple(vars(module).items())
        if isinstance(value, contextvars.ContextVar)
    }
    return tuple(
        (known[id(each)], each, type(value).__name__)
        for each, value in context.items()
        if id(each) in known
    )
