"""What was read of a run, kept for the next reader until something is appended.

A hundred rules look at the same window one after another, and most of them want the
same few columns of it.
"""

from collections.abc import Callable, Hashable
from typing import TypeVar, cast

T = TypeVar("T")


class Memo:
    """Values by key, all of one version of a run.

    Any number of threads may ask. Two that ask at once may both make a value; what was
    made of an older version is never handed out for a newer one.

    Examples
    --------
    >>> from ftlab.runlog.memo import Memo
    >>> memo = Memo()
    >>> memo.get(1, "a", lambda: 5), memo.get(1, "a", lambda: 6)
    (5, 5)
    >>> memo.get(2, "a", lambda: 6)
    6
    """

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: tuple[int, dict[Hashable, object]] = (-1, {})

    def get(self, version: int, key: Hashable, make: Callable[[], T]) -> T:
        """Return what ``make`` gives, or what it gave for this version before."""
        at, values = self._kept
        if at != version:
            values = {}
            self._kept = version, values
        if key not in values:
            values[key] = make()
        return cast("T", values[key])
