"""The time that ftlab takes of the threads that train."""

import threading
import time
from types import TracebackType


class OwnTime(threading.local):
    """Adds up the wall time of what is run within it, in the thread that asks.

    Used as a context manager; within itself it counts once.

    Examples
    --------
    >>> from ftlab.probes.own_time import OwnTime
    >>> own = OwnTime()
    >>> with own, own:
    ...     pass
    >>> 0 < own.seconds < 1
    True
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._depth = 0
        self._began = 0.0

    @property
    def so_far(self) -> float:
        """The seconds, with those of what is run right now."""
        if not self._depth:
            return self.seconds
        return self.seconds + time.perf_counter() - self._began

    def __enter__(self) -> None:
        if not self._depth:
            self._began = time.perf_counter()
        self._depth += 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._depth -= 1
        if not self._depth:
            self.seconds += time.perf_counter() - self._began


own_time = OwnTime()
