"""Sees threads, calls of thread pools, tasks and loaders' workers when they start."""

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Literal, Protocol

from torch.utils.data import dataloader

from ftlab.probes.holding.walk import is_library
from ftlab.probes.taps.rebinding import rebind_method
from ftlab.records.handle import Handle, HandleStack

StartKind = Literal["thread", "call in a thread pool", "task"]

OURS = "ftlab-"
"""What names of our own threads begin with."""


class Start(Protocol):
    """Runs what was started."""

    def call(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Call ``function``; a task is called once for each of its parts."""


Begin = Callable[[StartKind, str], Start | None]


def tap_starts(begin: Begin, around_workers: Callable[..., Any]) -> Handle:
    """Let what starts run within what ``begin`` returns.

    Parameters
    ----------
    begin
        Called by who starts it, with its kind and name; ``None`` leaves it alone. Tasks
        are told of where their code is the user's own.
    around_workers
        Stands in for what makes an iterator of a loader with workers: it is called with
        the original, the iterator and the loader.
    """

    def making(original: Any, *args: Any, **kwargs: Any) -> None:
        around_workers(original, *args, **kwargs)

    handles = HandleStack()
    for owner, method, around in (
        (threading.Thread, "start", _starting(begin)),
        (concurrent.futures.ThreadPoolExecutor, "submit", _submitting(begin)),
        (asyncio.BaseEventLoop, "create_task", _creating(begin)),
        (dataloader._MultiProcessingDataLoaderIter, "__init__", making),  # noqa: SLF001  torch has no other
    ):
        handles.add(rebind_method(owner, method, around))
    return handles


def _starting(begin: Begin) -> Callable[..., Any]:
    def around(original: Any, thread: Any, *args: Any, **kwargs: Any) -> Any:
        ours = thread.name.startswith(OURS)
        start = None if ours else begin("thread", thread.name)
        if start is not None:
            thread.run = _within(start, thread.run)
        return original(thread, *args, **kwargs)

    return around


def _submitting(begin: Begin) -> Callable[..., Any]:
    def around(
        original: Any, pool: Any, function: Any, /, *args: Any, **kwargs: Any
    ) -> Any:
        name = getattr(function, "__qualname__", type(function).__name__)
        start = begin("call in a thread pool", name)
        if start is not None:
            function = _within(start, function)
        return original(pool, function, *args, **kwargs)

    return around


def _creating(begin: Begin) -> Callable[..., Any]:
    def around(original: Any, loop: Any, coroutine: Any, **kwargs: Any) -> Any:
        frame = getattr(coroutine, "cr_frame", None)
        if frame is not None and not is_library(frame.f_globals.get("__name__")):
            start = begin("task", coroutine.__qualname__)
            if start is not None:
                coroutine = _Followed(coroutine, start)
        return original(loop, coroutine, **kwargs)

    return around


def _within(start: Start, function: Callable[..., Any]) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        return start.call(function, *args, **kwargs)

    return run


class _Followed(Coroutine[Any, Any, Any]):
    """A coroutine each part of which is run by a `Start`."""

    def __init__(self, coroutine: Any, start: Start) -> None:
        self._coroutine = coroutine
        self._start = start

    def __getattr__(self, name: str) -> Any:
        return getattr(self._coroutine, name)

    def __await__(self) -> Generator[Any, Any, Any]:
        return (yield from self._coroutine.__await__())

    def send(self, value: Any) -> Any:
        """Run up to the next await."""
        return self._start.call(self._coroutine.send, value)

    def throw(self, *error: Any) -> Any:
        """Go on with an error."""
        return self._start.call(self._coroutine.throw, *error)

    def close(self) -> None:
        """End it."""
        self._coroutine.close()
