"""Says whether a debugger executes a step again, or waits in one.

A step that is executed again has already been seen by whoever watches the run, so
watchers leave out what happens meanwhile. The mark holds for the whole process: it also
covers a notebook that runs the model while the training waits.

Examples
--------
>>> from ftlab.records import replaying
>>> replaying.active()
False
>>> with replaying.marked():
...     replaying.active()
True
"""

import contextlib
from collections.abc import Iterator

_depth: list[object] = []


def active() -> bool:
    """Whether what happens now is a repetition, or somebody looking."""
    return bool(_depth)


def begin() -> object:
    """Set the mark; give what this returns to `end`."""
    token = object()
    _depth.append(token)
    return token


def end(token: object) -> None:
    """Take the mark off; a second time does nothing."""
    if token in _depth:
        _depth.remove(token)


@contextlib.contextmanager
def marked() -> Iterator[None]:
    """Set the mark within a ``with`` block."""
    token = begin()
    try:
        yield
    finally:
        end(token)
