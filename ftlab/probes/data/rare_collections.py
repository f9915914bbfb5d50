"""Python's garbage collection, held back while rows are read.

What waits for its tokens to be counted is thousands of objects that soon go by
themselves. Collections that are due after every 700 new ones move them on to the old
generation, for whose sake the whole process is gone through again and again: of 650
microseconds of CPU for a row, that takes 50 (medians of `ftlab.data` over 16,000
conversations, beside a loaded `transformers`).
"""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

YOUNG = 20_000
"""New objects between two collections; with 50,000 or 200,000 nothing more is saved."""

_lock = threading.Lock()
_running: list[int] = []


@contextmanager
def rare_collections() -> Iterator[None]:
    """Collect garbage less often, and as often as before when the last one leaves.

    Who has turned collections off, or asked for fewer, keeps that.

    Examples
    --------
    >>> import gc
    >>> from ftlab.probes.data.rare_collections import rare_collections
    >>> before = gc.get_threshold()
    >>> with rare_collections():
    ...     inside = gc.get_threshold()
    >>> inside[0], gc.get_threshold() == before
    (20000, True)
    """
    with _lock:
        young, *older = gc.get_threshold()
        if not _running and 0 < young < YOUNG:
            gc.set_threshold(YOUNG, *older)
        _running.append(young)
    try:
        yield
    finally:
        with _lock:
            young = _running[0]
            _running.pop()
            # unless somebody else has set another number meanwhile
            if not _running and gc.get_threshold()[0] == YOUNG:
                gc.set_threshold(young, *gc.get_threshold()[1:])
