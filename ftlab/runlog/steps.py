"""The table of steps: one row per attempted optimizer step, in memory."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ftlab.records.errors import BadValueError, UnknownNameError
from ftlab.records.near import near
from ftlab.records.step import StepRecord
from ftlab.runlog.schema import STEP_COLUMNS, STEP_VALUES

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class StepRows:
    """Rows of the table of steps as a folder keeps them.

    Attributes
    ----------
    columns
        By name, values and which of them were measured.
    lr
        Learning rates, ``(steps, groups)``; NaN where there was no such group.
    """

    step: NDArray[np.int64]
    columns: Mapping[str, tuple[Array, NDArray[np.bool_]]]
    lr: Array

    def rising(self, last: int) -> NDArray[np.bool_]:
        """Mark the rows whose step is later than ``last`` and than all before them."""
        before = np.maximum.accumulate(np.concatenate([[last], self.step[:-1]]))
        return np.asarray(self.step > before[: len(self.step)], bool)

    def only(self, chosen: NDArray[np.bool_]) -> "StepRows":
        """Return some of the rows."""
        columns = {n: (v[chosen], k[chosen]) for n, (v, k) in self.columns.items()}
        return StepRows(self.step[chosen], columns, self.lr[chosen])


def rectangle(sizes: NDArray[np.integer], values: Array) -> Array:
    """Cut values into rows of different lengths, NaN behind the short ones.

    Examples
    --------
    >>> import numpy as np
    >>> from ftlab.runlog.steps import rectangle
    >>> rectangle(np.array([1, 0, 2]), np.array([1.0, 2.0, 3.0]))
    array([[ 1., nan],
           [nan, nan],
           [ 2.,  3.]])
    """
    filled = np.full((len(sizes), sizes.max(initial=0)), np.nan)
    filled[np.arange(filled.shape[1]) < sizes[:, None]] = values
    return filled


class StepColumns:
    """Growing columns. Rows become visible when ``count`` is raised, at the end.

    Values are 0 where nothing was measured: of zeros a process holds no memory before
    they are written to. `StepTable` shows them as NaN.
    """

    def __init__(self) -> None:
        self.count = 0
        self.groups = 0
        self.step: NDArray[np.int64] = np.zeros(256, np.int64)
        self.lr: Array = np.full((256, 0), np.nan)
        self.columns: dict[str, tuple[Array, NDArray[np.bool_]]] = {}
        for name in STEP_COLUMNS:
            self._add(name)

    @property
    def last(self) -> int:
        """The last step; -1 before the first."""
        return int(self.step[self.count - 1]) if self.count else -1

    def append(self, record: StepRecord) -> None:
        """Add one row; its step must be later than the last one."""
        row = self.count
        if row and record.step <= self.step[row - 1]:
            msg = (
                f"Step {record.step} was appended after step {self.step[row - 1]}; "
                "steps must increase."
            )
            raise BadValueError(msg)
        self._make_room(row + 1)
        self.step[row] = record.step
        for name in STEP_COLUMNS:
            self._put(name, row, getattr(record, name))
        for name, value in record.values.items():
            self._put(name, row, value)
        if len(record.lr) > self.lr.shape[1]:
            self._widen(len(record.lr))
        self.lr[row, : len(record.lr)] = record.lr
        self.count = row + 1

    def extend(self, rows: StepRows) -> None:
        """Add rows that were read together; each must be later than the one before."""
        count, last = len(rows.step), self.last
        if not count:
            return
        if not rows.rising(last).all():
            msg = (
                f"Steps {rows.step[0]} to {rows.step[-1]} were appended after step "
                f"{last}; steps must increase."
            )
            raise BadValueError(msg)
        self._make_room(self.count + count)
        here = slice(self.count, self.count + count)
        self.step[here] = rows.step
        for name, (values, known) in rows.columns.items():
            column = self.columns.get(name) or self._add(name)
            column[0][here], column[1][here] = values, known
        if rows.lr.shape[1] > self.lr.shape[1]:
            self._widen(rows.lr.shape[1])
        self.lr[here, : rows.lr.shape[1]] = rows.lr
        self.count += count

    def _put(self, name: str, row: int, value: float | None) -> None:
        if value is None:
            return
        pair = self.columns.get(name) or self._add(name)
        pair[0][row] = value
        pair[1][row] = True

    def _add(self, name: str) -> tuple[Array, NDArray[np.bool_]]:
        size = len(self.step)
        pair = np.zeros(size), np.zeros(size, bool)
        self.columns[name] = pair
        return pair

    def _make_room(self, rows: int) -> None:
        size = len(self.step)
        if rows <= size:
            return
        size = max(rows, size + size // 4)
        # Readers hold the old arrays; they are complete up to the old count.
        for name, (values, known) in list(self.columns.items()):
            larger = np.zeros(size), np.zeros(size, bool)
            larger[0][: len(values)], larger[1][: len(known)] = values, known
            self.columns[name] = larger
        lr = np.full((size, self.lr.shape[1]), np.nan)
        lr[: len(self.lr)] = self.lr
        step = np.zeros(size, np.int64)
        step[: len(self.step)] = self.step
        self.lr, self.step = lr, step

    def _widen(self, groups: int) -> None:
        lr = np.full((len(self.step), groups), np.nan)
        lr[:, : self.lr.shape[1]] = self.lr
        self.lr = lr


class StepTable:
    """A consistent look at the rows that were there when it was made.

    ``table["loss"]`` is a float64 array with NaN where nothing was measured *or* the
    value is NaN; `known` tells them apart. ``"lr"`` has shape ``(steps, groups)``,
    ``"skipped"`` is bool.

    Examples
    --------
    >>> from ftlab.records.step import StepRecord
    >>> from ftlab.runlog.run import Run
    >>> run = Run()
    >>> run.append(StepRecord(step=0, time=0.0, loss=2.5))
    >>> run.append(StepRecord(step=1, time=1.0, values={"tokens": 64.0}))
    >>> run.steps["loss"]
    array([2.5, nan])
    >>> run.steps.known("tokens")
    array([False,  True])
    >>> run.steps["los_scale"]
    Traceback (most recent call last):
    ...
    ftlab.records.errors.UnknownNameError: There is no step column 'los_scale'; near \
ones are 'loss_scale', 'loss'.
    """

    def __init__(
        self, data: StepColumns, start: int = 0, stop: int | None = None
    ) -> None:
        self._data = data
        steps = data.step[: data.count]
        first = int(np.searchsorted(steps, start)) if start > 0 else 0
        last = len(steps) if stop is None else int(np.searchsorted(steps, stop))
        self._rows = slice(first, max(first, last))

    def __len__(self) -> int:
        return self._rows.stop - self._rows.start

    def __contains__(self, column: object) -> bool:
        """Whether ``column`` has been recorded at least once in the run."""
        return column == "lr" or column in self._data.columns

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns but ``step``."""
        return (*self._data.columns, "lr")

    @property
    def step(self) -> NDArray[np.int64]:
        """Step numbers, increasing."""
        return _frozen(self._data.step[self._rows])

    def __getitem__(self, column: str) -> Array:
        if column == "lr":
            return _frozen(self._data.lr[self._rows])
        values, known = self._pair(column)
        values = np.where(known, values, np.nan)
        if column == "skipped":
            return _frozen(values == 1)
        return _frozen(values)

    def known(self, column: str) -> NDArray[np.bool_]:
        """Whether ``column`` was measured at each step."""
        if column == "lr":
            return ~np.isnan(self._data.lr[self._rows])
        return _frozen(self._pair(column)[1])

    def _pair(self, column: str) -> tuple[Array, NDArray[np.bool_]]:
        pair = self._data.columns.get(column)
        if pair is not None:
            return pair[0][self._rows], pair[1][self._rows]
        if column not in STEP_VALUES:
            msg = f"There is no step column {column!r}; {near(column, self.columns)}."
            raise UnknownNameError(msg)
        return np.zeros(len(self)), np.zeros(len(self), bool)


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view
