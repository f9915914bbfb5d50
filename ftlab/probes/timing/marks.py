"""Ranges that profilers show: steps, phases within them, and modules within these.

All marks of a thread share one stack, so that those of two watches are nested too.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import torch

from ftlab.probes.graph import module_hook
from ftlab.probes.inventory import spots_of
from ftlab.probes.subject import Subject
from ftlab.probes.taps.forward import innermost
from ftlab.probes.torch_private import hook_modules
from ftlab.records.handle import CallbackHandle, Handle, HandleStack
from ftlab.records.step_time import PHASES


class _Ranges(threading.local):
    """The ranges that are open in this thread, the outermost first."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._open: list[contextlib.ExitStack] = []

    def push(self, name: str) -> None:
        self.names.append(name)
        self._open.append(contextlib.ExitStack())
        self._open[-1].enter_context(torch.profiler.record_function(name))
        if torch.cuda.is_initialized():
            torch.cuda.nvtx.range_push(name)
            self._open[-1].callback(torch.cuda.nvtx.range_pop)

    def pop_to(self, depth: int) -> None:
        while len(self.names) > depth:
            self.names.pop()
            self._open.pop().close()

    def leave(self, name: str, _: object = None) -> None:
        """Close the innermost range of a name, and what it has left open."""
        if name in self.names:
            self.pop_to(len(self.names) - 1 - self.names[::-1].index(name))


_ranges = _Ranges()


def step_under_way() -> int:
    """Return the step that this thread's marks are at, or 0."""
    number = "".join(_ranges.names[:1]).removeprefix("step ")
    return int(number) if number.isdigit() else 0


class Marks:
    """Pushes ranges of ``torch.profiler.record_function`` and, on CUDA, of NVTX.

    The model itself goes by its class. Compiled modules have no ranges. What no hook
    can close, the next range does, or the end. ``between`` is called between two steps.
    """

    def __init__(self) -> None:
        self.between: Callable[[], object] = bool
        self.last = -1
        self.modules: frozenset[str] = frozenset()
        self._phase = self._root = ""
        self._on = False

    def attach(self, subject: Subject) -> Iterator[Handle]:
        """Put hooks on the modules; taking them off closes what is open."""
        self._on, self.last, self._phase = True, -1, "other"
        self._root = root = type(innermost(subject.model)).__name__
        modules = [
            (f"{root}.{spot.path}" if spot.path in PHASES else spot.path or root, found)
            for spot in spots_of(subject.model)
            # in eval mode, with hooks, encoder layers compute in another way
            if spot.encoder is None and (found := spot.hookable()) is not None
        ]
        paths = {id(module): path for path, module in modules}
        self.modules = frozenset(paths.values())
        before = module_hook.SharedPreHook(self._enter, paths)
        after = module_hook.SharedHook(_ranges.leave, paths)
        hooks = HandleStack()
        hooks.add(hook_modules(modules, before=before, first=after, last=after))
        yield CallbackHandle(self._end)
        yield hooks
        yield module_hook.off_while_scripting(hooks)

    def begin(self, step: int) -> None:
        """Begin a step, if it is new."""
        if step != self.last:
            first, self.last = self.last < 0, step
            self._show(within=first, anew=True)  # the first begins in the model's call

    def turn_to(self, phase: str) -> None:
        """Begin a phase of the step; what is none is ``other``."""
        self._phase = phase if phase in PHASES else "other"
        self._show()

    def _enter(self, path: str, _inputs: Any) -> None:
        if self._on and self.last >= 0:
            _ranges.push(path)

    def _show(self, *, within: bool = False, anew: bool = False) -> None:
        if not self._on or self.last < 0:
            return
        path = [f"step {self.last}", self._phase]
        if within or _ranges.names[-1:] == [self._root]:  # its call began the step
            path.append(self._root)
        if anew:
            _ranges.pop_to(0)
            self.between()
        pairs = enumerate(zip(_ranges.names, path, strict=False))
        _ranges.pop_to(next((i for i, (a, b) in pairs if a != b), len(path)))
        for name in path[len(_ranges.names) :]:
            _ranges.push(name)

    def _end(self) -> None:
        self._on = False
        _ranges.pop_to(0)
