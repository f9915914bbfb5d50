"""Runs the step again and stops at chosen operations."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ftlab.replay.torch_private import TorchDispatchMode
from ftlab.replay.tracing.finite import tensor_leaves
from ftlab.replay.tracing.site import Site
from ftlab.replay.tracing.traits import is_bookkeeping, results, traits


@dataclass(slots=True)
class OpStop:
    """A stop right after an operation, with its live values while the step waits.

    torch asks how many hold a tensor: one that a stop still held when the step goes on
    would be detached, copied or added to by other operations than without the stop.

    Attributes
    ----------
    site
        Which operation.
    reason
        ``"anomaly"``, ``"step"``, ``"back"`` or ``"interrupt"``.
    func, args, kwargs, outputs
        The call; arguments that the op overwrites are copies of what they were.
    matches
        Whether the survey saw the same operation at this index.
    """

    site: Site
    reason: str
    func: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    outputs: Any
    matches: bool

    def release(self) -> None:
        """Let go of the live values: the step goes on."""
        self.args, self.kwargs, self.outputs = (), {}, None


class StepRunner(TorchDispatchMode):
    """Counts operations and calls ``pause`` after the one it was sent to.

    Parameters
    ----------
    sites
        The survey's operations.
    target
        Index to stop at first; ``None`` runs on to the end of the step.
    reason
        Why the stop is made.
    pause
        Called with the stop; returns the next target.
    interrupted
        Asked before each op whether to stop at once.
    insist
        Called before each op, see `Unwinding.insist`; what it returns true for is not
        counted.

    Attributes
    ----------
    target, reason
        Where it stops next, and why; an index behind the last op stops where the step
        ends.
    silent
        While true, operations are not counted: the tool's own, and all that come when
        the weights have changed.
    """

    def __init__(
        self,
        sites: Sequence[Site],
        target: int | None,
        reason: str,
        pause: Callable[[OpStop], int | None],
        interrupted: Callable[[], bool],
        insist: Callable[[], bool],
    ) -> None:
        super().__init__()
        self.target = target
        self.reason = reason
        self.silent = False
        self._sites = sites
        self._pause = pause
        self._interrupted = interrupted
        self._insist = insist
        self._index = -1

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run ``func`` and pause behind it if it is the wanted one."""
        kwargs = kwargs or {}
        if self._insist() or self.silent or is_bookkeeping(func):
            return func(*args, **kwargs)
        self._index += 1
        index, interrupted = self._index, self._interrupted()
        if index >= len(self._sites) or not (interrupted or index == self.target):
            return func(*args, **kwargs)
        args_before, kwargs_before = _before(func, args, kwargs)
        outputs = func(*args, **kwargs)
        site = self._sites[index]
        stop = OpStop(
            site,
            "interrupt" if interrupted else self.reason,
            func,
            args_before,
            kwargs_before,
            results(func, args, kwargs, outputs),
            site.op == str(func),
        )
        self.reason = "step"
        try:
            self.target = self._pause(stop)
        finally:
            stop.release()
        return outputs


def _before(
    func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Copy what the op is about to overwrite, so that the stop shows its inputs."""
    written = traits(func).written
    if not written:
        return args, kwargs
    return (
        tuple(_twin(a) if i in written else a for i, a in enumerate(args)),
        {k: _twin(v) if k in written else v for k, v in kwargs.items()},
    )


def _twin(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_twin(item) for item in value]
    return value.detach().clone() if tensor_leaves(value) else value


@contextlib.contextmanager
def unseen(mode: Any) -> Iterator[None]:
    """Keep operations out of the sight of ``mode``, a tracer or runner if there is one.

    Examples
    --------
    >>> import types
    >>> from ftlab.replay.tracing.runner import unseen
    >>> mode = types.SimpleNamespace(silent=False)
    >>> with unseen(mode):
    ...     mode.silent
    True
    >>> mode.silent
    False
    """
    if mode is None or mode.silent:
        yield
        return
    mode.silent = True
    try:
        yield
    finally:
        mode.silent = False
