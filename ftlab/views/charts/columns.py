"""Columns over steps that never outgrow a picture.

A view of a run is a matrix: one column per step, one row per layer, parameter or
series. `Columns` keeps at most ``capacity`` columns. When they are full, neighbouring
ones are pooled and each stands for twice as many steps: a run of any length is drawn
whole, and memory stays bounded.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
    >>> from ftlab.views.charts.columns import Columns
    >>> columns = Columns(1, capacity=4)
    >>> for step in range(6):
    ...     columns.put(step, [step])
    >>> columns.stride, columns.values.ravel().tolist()
    (2, [1.0, 3.0, 5.0])
    """

    measured: ClassVar[bool] = False
    """Whether columns stand for measurements at uneven steps."""

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
        self._low, self._high = 0, 0
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
        self.extend(np.array([step]), np.asarray(column, np.float32)[None])

    def extend(self, steps: NDArray[np.int64], values: ArrayLike) -> None:
        """Add the values of several steps at once.

        Parameters
        ----------
        steps
            Increasing; those before the first step of all are left out.
        values
            Of shape ``(steps, rows)``.
        """
        new = np.asarray(values, np.float32).reshape(len(steps), self.rows)
        if self.start < 0 and len(steps):
            self.start = int(steps[0])
        late = int(np.searchsorted(steps, self.start))
        new, steps = new[late:], steps[late:]
        if not len(steps):
            return
        while (int(steps[-1]) - self.start) // self.stride >= self._capacity:
            self._halve()
        index = (steps - self.start) // self.stride
        self._reserve(int(index[-1]))
        # each round puts one step into every column: as many rounds as a column has
        # steps, however many columns there are
        turn = np.arange(len(index)) - np.searchsorted(index, index)
        order = np.argsort(turn, kind="stable")
        for at in np.split(order, np.flatnonzero(np.diff(turn[order])) + 1):
            self._pool_in(index[at], new[at])
        # columns that were skipped over are new as well
        self._low = min(self._low, int(index[0]), self.count)
        self.count = max(self.count, int(index[-1]) + 1)
        self._high = max(self._high, int(index[-1]) + 1)

    def _pool_in(self, index: NDArray[np.int64], new: Values) -> None:
        old, before = self._values[index], self._steps_in[index, None]
        with np.errstate(invalid="ignore"):
            pooled = self._pool(old, new, before, np.ones_like(before))
        fresh = before[:, 0] == 0
        pooled[fresh] = new[fresh]
        self._values[index] = pooled
        self._steps_in[index] += 1

    def take_patch(self) -> Patch | None:
        """Return what changed since the last call, ``None`` when nothing did."""
        whole, low, high = self._changed_all, self._low, self._high
        self._changed_all, self._low, self._high = False, self.count, 0
        if whole:
            return Patch(True, 0, self.values)
        return Patch(False, low, self._values[low:high]) if low < high else None

    def _reserve(self, index: int) -> None:
        if index >= len(self._values):
            size = min(2 * len(self._values), self._capacity)
            more = max(index + 1, size) - len(self._values)
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
        for one, lone in ((newer, steps[:, 0] == 0), (older, steps[:, 1] == 0)):
            pooled[lone] = one[lone]
        half = even // 2
        self._values[:half] = pooled
        self._values[half:] = self._empty
        self._steps_in[:half] = steps.sum(1)
        self._steps_in[half:] = 0
        self.count, self.stride = half, self.stride * 2
        self._changed_all = True


class MeasuredColumns(Columns):
    """Columns of what is measured now and then: one per measurement, not per step.

    Examples
    --------
    >>> from ftlab.views.charts.columns import MeasuredColumns
    >>> columns = MeasuredColumns(1)
    >>> for step in (0, 8, 16, 32):
    ...     columns.put(step, [step])
    >>> columns.first_steps.tolist(), columns.values.ravel().tolist()
    ([0, 8, 16, 32], [0.0, 8.0, 16.0, 32.0])
    """

    measured: ClassVar[bool] = True

    def __init__(
        self,
        rows: int,
        *,
        capacity: int = 2048,
        empty: float = np.nan,
        pool: Pool = largest,
    ) -> None:
        super().__init__(rows, capacity=capacity, empty=empty, pool=pool)
        self._measured = np.empty(0, np.int64)

    @property
    def first_steps(self) -> NDArray[np.int64]:
        """The step of each column's first measurement."""
        return self._measured[:: self.stride][: self.count]

    def extend(self, steps: NDArray[np.int64], values: ArrayLike) -> None:
        """Add the values of several measurements, their steps increasing."""
        self._measured = np.union1d(self._measured, steps)
        super().extend(np.searchsorted(self._measured, steps), values)
