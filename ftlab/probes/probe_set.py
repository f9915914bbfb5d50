"""Calls probes; the one boundary at which a failing probe is caught and taken off."""

import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ftlab.probes.budget import Budget
from ftlab.probes.probe import Moment, Probe, Reading, Result, Tensors
from ftlab.probes.schedule import Turn, every_step
from ftlab.probes.stepping.open_step import OpenStep, Source
from ftlab.probes.subject import Subject
from ftlab.records.errors import BadValueError, FtlabWarning
from ftlab.records.event import Event
from ftlab.records.handle import HandleStack

_EVENTS = (
    "on_further_forward",
    "on_evaluation",
    "on_merge",
    "on_adapters",
    "on_handover",
    "on_save",
    "on_spoilt_loss",
    "on_unfinished",
)
"""What does not come in each step, and waits for no turn."""

_MOMENTS = (
    "on_batch",
    "on_gradients",
    "before_update",
    "after_update",
    *_EVENTS,
    "on_close",
)


class ProbeSet:
    """The probes that are attached.

    Parameters
    ----------
    probes
        Each has a name of its own.
    budget
        Decides which of them have their turn.
    """

    def __init__(self, probes: Sequence[Probe], budget: Budget | None = None) -> None:
        self._probes = {probe.name: probe for probe in probes}
        names = [probe.name for probe in probes]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            msg = (
                f"Two probes are named {twice!r}; each needs a name of its own. Give "
                f"one class another `name`, or pass only one of them."
            )
            raise BadValueError(msg)
        self.budget = Budget() if budget is None else budget
        self.budget.take(probes)
        self._counted = frozenset(filter(self.budget.counts, names))
        self._tensors: Tensors | None = None
        self._handles: dict[str, HandleStack] = {}
        self._by_moment = {
            moment: [
                _Called(probe, moment, counted=probe.name in self._counted)
                for probe in probes
                if _overrides(probe, moment)
            ]
            for moment in _MOMENTS
        }
        self._in_light = {
            moment: [each for each in called if moment in _EVENTS or each.in_light]
            for moment, called in self._by_moment.items()
        }

    def attach(self, subject: Subject) -> None:
        """Let each probe put its own hooks on."""
        for probe in tuple(self._probes.values()):
            stack = self._handles[probe.name] = HandleStack()
            try:
                for handle in probe.attach(subject):
                    stack.add(handle)
            except Exception as error:  # noqa: BLE001  one warning, and training goes on
                self._drop(probe.name, "while it was attached", error)

    def detach(self) -> None:
        """Take all hooks of all probes off."""
        for name in tuple(self._handles):
            stack = self._handles.pop(name)
            try:
                stack.remove()
            except Exception as error:  # noqa: BLE001  the others must still go
                _warn(f"Probe {name!r} could not be taken off cleanly", error)

    def call(
        self, moment: str, step: OpenStep, look: Callable[[], Moment], *args: Any
    ) -> dict[Source, list[Reading]]:
        """Call the probes that are due at ``moment`` and return their readings."""
        found: dict[Source, list[Reading]] = {}
        number, event, known = step.step, moment in _EVENTS, step.readings
        seen, called = self._due(moment, number, look)
        for each in called:
            if each.probe.rests and not event:
                continue
            if each.schedule is not None and not self._is_due(each, number, event):
                continue
            began = time.perf_counter() if each.counted else 0.0
            try:
                readings = list(each.method(seen, *args))
                if readings or each.source in known:
                    found[each.source] = readings
            except Exception as error:  # noqa: BLE001  see above
                self._drop(each.name, f"in {moment} of step {number}", error)
            if began:
                self._count(each.name, number, began)
        return found

    def close(self, step: OpenStep, look: Callable[[], Moment]) -> None:
        """Collect what probes know on the host when a step is over."""
        seen = look()
        for each in self._called("on_close", step.step):
            if each.probe.rests:
                continue
            began = time.perf_counter() if each.counted else 0.0
            try:
                if each.schedule is None or each.schedule(step.step):
                    step.values.update(each.method(seen))
            except Exception as error:  # noqa: BLE001  see above
                self._drop(each.name, f"in on_close of step {step.step}", error)
            if began:
                self._count(each.name, step.step, began)
        step.values.update(self.budget.end(step.step))

    def _called(self, moment: str, step: int) -> "list[_Called]":
        full = self.budget.is_full(step)
        return (self._by_moment if full else self._in_light)[moment]

    def _due(
        self, moment: str, step: int, look: Callable[[], Moment]
    ) -> "tuple[Any, list[_Called]]":
        """Look, where a probe may be due; anew where the watched tensors are others."""
        called = self._called(moment, step)
        seen = look() if called else None
        if seen is None or seen.tensors is self._tensors:
            return seen, called
        self._tensors = seen.tensors
        for probe in self._probes.values():
            probe.rests = False
        self.budget.look_closer(seen.step)
        return look(), self._called(moment, step)

    def unfinished(self, step: int) -> list[Event]:
        """Collect what probes know of a step that may never be over."""
        found: list[Event] = []
        for each in tuple(self._by_moment["on_unfinished"]):
            try:
                found += each.method(step)
            except Exception as error:  # noqa: BLE001  see above
                self._drop(each.name, f"in on_unfinished of step {step}", error)
        return found

    def finish(
        self, source: Source, step: int, reading: Reading, values: NDArray[np.float32]
    ) -> list[Result]:
        """Let a probe make records of values that have arrived."""
        began = time.perf_counter() if source[0] in self._counted else 0.0
        try:
            return list(reading.finish(values))
        except Exception as error:  # noqa: BLE001  see above
            self._drop(source[0], f"with its {source[1]} values of step {step}", error)
            return []
        finally:
            if began:
                self._count(source[0], step, began)

    def _count(self, name: str, step: int, began: float) -> None:
        self.budget.spent(name, step, time.perf_counter() - began)

    def _is_due(self, called: "_Called", step: int, planned: bool) -> bool:
        schedule: Any = called.schedule
        if planned and isinstance(schedule, Turn):
            return schedule.planned(step)
        try:
            return bool(schedule(step))
        except Exception as error:  # noqa: BLE001  see above
            self._drop(called.name, f"in its schedule at step {step}", error)
            return False

    def _drop(self, name: str, where: str, error: Exception) -> None:
        if self._probes.pop(name, None) is None:
            return
        for known in (self._by_moment, self._in_light):
            for moment, called in known.items():
                known[moment] = [each for each in called if each.name != name]
        stack = self._handles.pop(name, None)
        if stack is not None:
            stack.remove()
        _warn(f"Probe {name!r} failed {where} and was detached", error)


class _Called:
    """A probe at one moment, with all at hand that a step asks of it."""

    __slots__ = ("counted", "in_light", "method", "name", "probe", "schedule", "source")

    def __init__(self, probe: Probe, moment: str, *, counted: bool) -> None:
        self.probe, self.name, self.counted = probe, probe.name, counted
        self.method = getattr(probe, moment)
        turns = isinstance(probe.schedule, Turn) and probe.schedule.decide is not None
        self.in_light = probe.light and not turns
        self.schedule = None if probe.schedule is every_step else probe.schedule
        self.source: Source = (probe.name, moment)


def _overrides(probe: Probe, moment: str) -> bool:
    return getattr(type(probe), moment) is not getattr(Probe, moment)


def _warn(what: str, error: Exception) -> None:
    kind = type(error).__name__
    text = f"{what}: {kind}: {error}. Training and everything else go on."
    warnings.warn(text, FtlabWarning, stacklevel=2)
