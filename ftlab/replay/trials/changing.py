"""What computes something else while a step runs: by a call's number, or by name."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook
from torch.overrides import TorchFunctionMode

from ftlab.replay.optimizers import has_closure
from ftlab.replay.torch_private import (
    TorchDispatchMode,
    call_first,
    current_node,
    graph_task,
    last_sequence,
    node_sequence,
)
from ftlab.replay.tracing.site import within_checkpoint
from ftlab.replay.tracing.traits import is_bookkeeping

Apply = Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]
"""Computes something in place of ``func(*args, **kwargs)``."""


class CallCounter(TorchFunctionMode):
    """Numbers the calls of torch functions that a step makes.

    ``loss.backward()`` is none of them: what it runs has other origins.

    Attributes
    ----------
    current
        The number of the call under way; -1 outside of all.
    """

    def __init__(self, silent: Callable[[], bool]) -> None:
        super().__init__()
        self.current = -1
        self._last = -1
        self._silent = silent

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Give the call its number and make it."""
        if self._silent() or func is torch.Tensor.backward:
            return func(*args, **(kwargs or {}))
        self._last += 1
        self.current = self._last
        try:
            return self.call(func, args, kwargs or {})
        finally:
            self.current = -1

    def call(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Make the call that has the number `current`."""
        return func(*args, **kwargs)


class ChangedCalls(CallCounter):
    """Computes something else in place of some calls.

    Attributes
    ----------
    at_work
        Whether such a call is under way.
    """

    def __init__(
        self, changes: Mapping[int, Apply], silent: Callable[[], bool]
    ) -> None:
        super().__init__(silent)
        self.at_work = False
        self._changes = changes
        self._nodes: set[int] = set()

    def call(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Make the call, or what is computed instead."""
        change = self._changes.get(self.current)
        if change is None:
            return func(*args, **kwargs)
        first, self.at_work = last_sequence() + 1, True
        try:
            return change(func, args, kwargs)
        finally:
            self.at_work = False
            self._nodes.update(range(first, last_sequence() + 1))

    def has_made(self, node: Any) -> bool:
        """Say whether a node of autograd comes from what was computed instead."""
        return node_sequence(node) in self._nodes


class ChangedOps(TorchDispatchMode):
    """Computes something else in place of some operations, by their index."""

    def __init__(
        self, changes: Mapping[int, Apply], silent: Callable[[], bool]
    ) -> None:
        super().__init__()
        self._changes = changes
        self._silent = silent
        self._index = -1

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run ``func``, or what is computed instead."""
        kwargs = kwargs or {}
        if self._silent() or is_bookkeeping(func):
            return func(*args, **kwargs)
        self._index += 1
        change = self._changes.get(self._index)
        return func(*args, **kwargs) if change is None else change(func, args, kwargs)


class ReplacedOps(TorchDispatchMode):
    """Computes something else in place of all operations of some names.

    An index would not find them: changed calls run other operations than the survey has
    counted, and so does their backward.

    Parameters
    ----------
    changes
        By the operations' names.
    calls
        What these make, and differentiate, stays as it is.
    silent
        Says of an operation that it is not the step's.

    Attributes
    ----------
    over
        Set where the step begins to change the weights: no survey has looked there.
    """

    def __init__(
        self,
        changes: Mapping[str, Apply],
        calls: ChangedCalls,
        silent: Callable[[], bool],
    ) -> None:
        super().__init__()
        self.over = False
        self._changes = changes
        self._calls = calls
        self._silent = silent
        self._first_task: int | None = None

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run ``func``, or what is computed instead."""
        kwargs = kwargs or {}
        change = self._changes.get(str(func))
        if self.over or self._silent() or self._is_of_a_change():
            change = None
        return func(*args, **kwargs) if change is None else change(func, args, kwargs)

    def _is_of_a_change(self) -> bool:
        node = current_node()
        if node is None:
            self._first_task = None
            return self._calls.at_work
        if self._first_task is None:
            self._first_task = graph_task()
        # Within a reentrant checkpoint's backward numbers of nodes may repeat.
        if graph_task() != self._first_task or not self._calls.has_made(node):
            return False
        return not within_checkpoint()


@contextlib.contextmanager
def before_updates(replaced: ReplacedOps) -> Iterator[None]:
    """Let ``replaced`` be over within a ``with`` block once an optimizer steps."""

    def end(_: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        replaced.over = replaced.over or not has_closure(args, kwargs)

    handle = register_optimizer_step_pre_hook(end)
    call_first(handle)
    try:
        yield
    finally:
        handle.remove()
