"""Columns over steps that never outgrow a picture.

A view of a run is a matrix: one column per step, one row per layer, parameter or
series. `Columns` keeps at most ``capacity`` columns. When they are full, neighbouring
ones are pooled and each stands for twice as many steps: a run of any length is drawn
whole, and memory stays bounded.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float32]
Pool = Callable[[Values, Values, Values, Values], Values]
"""Makes one column of two: ``pool(older, newer, steps_in_older, steps_in_newer)``."""


def largest(older: Values, newer: Values, _old: Values, _new: Values) -> Values:
    """Keep the larger value; NaN wins, as the one worth seeing."""
    return np.maximum(older, newer)


def by_row(kinds: Sequence[str]) -> Pool:
    """Pool each row in its own way.

    Parameters
    ----------
    kinds
        One of ``largest``, ``smallest``, ``mean`` and ``latest`` per row; NaN stands
        for what was not recorded and never wins.
    """
    at = {
        kind: np.flatnonzero(np.array(kinds) == kind) for kind in dict.fromkeys(kinds)
    }

    def pool(older: Values, newer: Values, old: Values, new: Values) -> Values:
        pooled = np.where(np.isnan(newer), older, newer)
        weighted = (older * old + newer * new) / np.maximum(old + new, 1)
        mean = np.where(np.isnan(weighted), pooled, weighted)
        made = {
            "largest": np.fmax(older, newer),
            "smallest": np.fmin(older, newer),
            "mean": mean,
            "latest": pooled,
        }
        for kind, rows in at.items():
            pooled[..., rows] = made[kind][..., rows]
        return pooled.astype(np.float32)

    return pool


@dataclass(frozen=True, slots=True)
class Patch:
    """Columns that a front end has not seen yet.

    Attributes
    ----------
    whole
        True when all columns changed because they were pooled.
    at
        Index of the first column in ``values``.
    values
        Float32 of shape ``(columns, rows)``.
    """

    whole: bool
    at: int
    values: Values


class Columns:
    """A growing matrix of columns over steps, pooled to a bounded number.

    Parameters
    ----------
    rows
        Number of rows.
    capacity
        Largest number of columns, an even number.
    empty
        Value of what was not recorded.
    stride
        Steps that a column stands for to begin with.

    Examples
    --------
    >>> from ftlab.views.columns import Columns
    >>> columns = Columns(1, capacity=4)
    >>> for step in range(6):
    ...     columns.put(step, [step])
    >>> columns.stride, columns.values.ravel().tolist()
    (2, [1.0, 3.0, 5.0])
    """

    def __init__(
        self,
        rows: int,
        *,
        capacity: int = 2048,
        empty: float = np.nan,
        pool: Pool = largest,
        stride: int = 1,
    ) -> None:
        self.start = -1
        self.stride = stride
        self.count = 0
        self._capacity = capacity
        self._empty = np.float32(empty)
        self._pool = pool
        self._values = np.full((16, rows), empty, np.float32)
        self._steps_in = np.zeros(16, np.float32)
        self._sent = 0
        self._changed_all = True

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self._values.shape[1]

    @property
    def values(self) -> Values:
        """All columns, float32 of shape ``(columns, rows)``; do not write into it."""
        return self._values[: self.count]

    @property
    def first_steps(self) -> NDArray[np.int64]:
        """The first step that each column stands for."""
        return max(self.start, 0) + self.stride * np.arange(self.count, dtype=np.int64)

    def put(self, step: int, column: NDArray[np.float32] | list[float]) -> None:
        """Add the values of one step, of shape ``(rows,)``."""
        if self.start < 0:
            self.start = step
        index = (step - self.start) // self.stride
        if index < 0:
            return
        while index >= self._capacity:
            self._halve()
            index = (step - self.start) // self.stride
        self._reserve(index)
        new, old = np.asarray(column, np.float32), self._values[index]
        before = self._steps_in[index : index + 1]
        if before[0]:
            new = self._pool(old, new, before, np.ones(1, np.float32))
        self._values[index] = new
        self._steps_in[index] += 1
        self.count = max(self.count, index + 1)
        self._sent = min(self._sent, index)

    def take_patch(self) -> Patch | None:
        """Return what changed since the last call, ``None`` when nothing did."""
        whole, at = self._changed_all, self._sent
        self._changed_all, self._sent = False, self.count
        if whole:
            return Patch(True, 0, self.values)
        return (
            Patch(False, at, self._values[at : self.count]) if at < self.count else None
        )

    def _reserve(self, index: int) -> None:
        if index >= len(self._values):
            more = max(index + 1 - len(self._values), len(self._values))
            added = np.full((more, self.rows), self._empty, np.float32)
            self._values = np.concatenate([self._values, added])
            self._steps_in = np.concatenate(
                [self._steps_in, np.zeros(more, np.float32)]
            )

    def _halve(self) -> None:
        even = self.count + self.count % 2
        self._reserve(even)
        steps = self._steps_in[:even].reshape(-1, 2)
        older, newer = self._values[0:even:2], self._values[1:even:2]
        old, new = steps[:, :1], steps[:, 1:]
        with np.errstate(invalid="ignore"):
            pooled = self._pool(older, newer, old, new)
        pooled = np.where(new == 0, older, np.where(old == 0, newer, pooled))
        half = even // 2
        self._values[:half] = pooled
        self._values[half:] = self._empty
        self._steps_in[:half] = steps.sum(1)
        self._steps_in[half:] = 0
        self.count, self.stride = half, self.stride * 2
        self._changed_all = True
