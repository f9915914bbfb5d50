"""What the gradient view shows: norms of layers and parameters by step.

`GradientColumns` follows a run and keeps bounded columns; `GradientSummary` is a frozen
copy of them. A layer's norm is the root of the summed squares of its parameters, its
max their maximum, both over finite values; how many were not finite is counted beside.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ftlab.views.columns import Columns
from ftlab.views.gradient_marks import Mark, marks
from ftlab.views.style import NO_GRADIENT, NOT_RECORDED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ftlab.records.names import NameRecord
    from ftlab.runlog.matrix import Matrix
    from ftlab.runlog.run import Run

Floats = NDArray[np.float32]
Bools = NDArray[np.bool_]
COLUMN_BUDGET = 4_000_000
"""Values kept in memory for a heatmap: fewer columns where there are many rows."""
RAW_BUDGET, DISK_BUDGET = 4_000_000, 16_000_000
"""Values read step by step, from memory or a folder; beyond, roll-ups are read."""
CHUNK = 512
LAYER_STATISTICS = ("norm", "max", "non_finite", "no_gradient", "zero")


@dataclass(frozen=True, slots=True)
class GradientSummary:
    """Norms by column (one or more steps) and layer or parameter.

    Attributes
    ----------
    names
        One record per parameter, in the model's order.
    layer_of
        Index into ``layers`` of each parameter.
    first_steps, stride
        The first step of each column, and how many steps a column stands for. Where
        it is more than one, the largest value is shown, and NaN before any other.
    layer_values
        By name from `LAYER_STATISTICS`, float32 of shape ``(columns, layers)``. Norm
        and max hold `NO_GRADIENT` or `NOT_RECORDED` where there is none.
    norm, max
        The same by parameter, float32 of shape ``(columns, parameters)``.
    """

    layers: tuple[str, ...]
    names: tuple[NameRecord, ...]
    layer_of: NDArray[np.int64]
    first_steps: NDArray[np.int64]
    stride: int
    layer_values: dict[str, Floats]
    norm: Floats
    max: Floats
    marks: tuple[Mark, ...]

    @property
    def shown(self) -> Floats:
        """Layer norms with NaN wherever a parameter's gradient was not finite."""
        bad = self.layer_values["non_finite"] > 0
        return np.where(bad, np.float32(np.nan), self.layer_values["norm"])


def model_order(names: Sequence[NameRecord]) -> tuple[str, ...]:
    """Return the layers in the order in which their parameters stand in the model."""
    return tuple(dict.fromkeys(record.layer for record in names))


class GradientColumns:
    """Follows the gradients of a run, one column per step or more.

    Rows are the layers once for each of `LAYER_STATISTICS`, then the parameters' norms,
    then their maxima.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._rebuild()

    def follow(self) -> bool:
        """Read what is new; True when there are new parameters (and new columns)."""
        last = self._run.last_step
        if last < self._next:
            return False
        grown = len(self._run.names("tensors")) != len(self.names)
        if grown:
            self._rebuild()
        self._read(last)
        return grown

    def freeze(self) -> GradientSummary:
        """Return a summary that later steps do not change."""
        count, width = len(self.layers), len(self.names)
        values = self.columns.values.copy()
        split = {
            name: values[:, index * count : (index + 1) * count]
            for index, name in enumerate(LAYER_STATISTICS)
        }
        first = len(LAYER_STATISTICS) * count
        return GradientSummary(
            self.layers,
            self.names,
            self.layer_of,
            self.columns.first_steps,
            self.columns.stride,
            split,
            values[:, first : first + width],
            values[:, first + width :],
            marks(self.layers, split["norm"][-16:]),
        )

    def tail_marks(self) -> tuple[Mark, ...]:
        """Return the marks that hold now, from the last columns only."""
        return marks(self.layers, self.columns.values[-16:, : len(self.layers)])

    def _rebuild(self) -> None:
        by_id = self._run.names("tensors")
        self.names = tuple(by_id[key] for key in sorted(by_id))
        self.layers = model_order(self.names)
        place = {layer: index for index, layer in enumerate(self.layers)}
        self.layer_of = np.array([place[one.layer] for one in self.names], np.int64)
        self._ids = np.array([record.id for record in self.names], np.int32)
        self._order = np.argsort(self.layer_of, kind="stable")
        self._starts = np.searchsorted(
            self.layer_of[self._order], np.arange(len(self.layers))
        )
        rows = len(LAYER_STATISTICS) * len(self.layers) + 2 * len(self.names)
        self._resolution = self._choose_resolution()
        capacity = max(128, min(2048, COLUMN_BUDGET // max(rows, 1) // 2 * 2))
        self.columns = Columns(
            rows, capacity=capacity, empty=NOT_RECORDED, stride=self._resolution
        )
        self._next = 0

    def _choose_resolution(self) -> int:
        values = (self._run.last_step + 1) * max(len(self.names), 1)
        budget = RAW_BUDGET if self._run.path is None else DISK_BUDGET
        if values <= budget:
            return 1
        return 64 if values <= 64 * budget else 4096

    def _read(self, last: int) -> None:
        while self._next <= last and self.names:
            stop = min(last + 1, self._next + CHUNK * self._resolution)
            for step, column in self._columns_of(self._next, stop):
                self.columns.put(step, column)
            self._next = stop
        self._resolution = 1

    def _columns_of(self, start: int, stop: int) -> list[tuple[int, Floats]]:
        norm, top, has = (
            self._run.matrix(name, start=start, stop=stop, resolution=self._resolution)
            for name in ("grad_l2", "grad_max", "has_grad")
        )
        if not len(norm.steps):
            return []
        bad = (norm.nonfinite > 0) | (top.nonfinite > 0)
        block = self._levels(
            self._place(has.known | norm.known, norm, False),
            self._place(norm.known, norm, False),
            self._place(bad, norm, False),
            self._place(norm.high, norm, np.float32(np.nan)),
            self._place(top.high, norm, np.float32(np.nan)),
        )
        return list(zip(norm.steps.tolist(), block, strict=True))

    def _place(self, values: NDArray[Any], matrix: Matrix, empty: Any) -> NDArray[Any]:
        """Put a matrix's rows into the order of `names`."""
        if np.array_equal(matrix.ids, self._ids):
            return values
        placed = np.full((len(values), len(self.names)), empty)
        known = np.isin(matrix.ids, self._ids)
        at = np.searchsorted(self._ids, matrix.ids[known])
        placed[:, at] = values[:, known]
        return placed

    def _levels(
        self, known: Bools, has: Bools, bad: Bools, norm: Floats, top: Floats
    ) -> Floats:
        good = has & ~bad
        squares = np.where(good, norm.astype(np.float64) ** 2, 0.0)
        layer_norm = np.sqrt(self._by_layer(np.add, squares))
        layer_max = self._by_layer(np.maximum, np.where(good, top, np.float32(0)))
        counts = {
            "known": known,
            "has": has,
            "good": good,
            "bad": bad,
            "zero": good & (norm == 0),
        }
        of = {
            key: self._by_layer(np.add, value.astype(np.float32))
            for key, value in counts.items()
        }
        levels = [_level(values, of) for values in (layer_norm, layer_max)]
        absent = np.where(known, NO_GRADIENT, NOT_RECORDED)
        nan = np.float32(np.nan)
        parameters = [
            np.where(has, np.where(bad & np.isfinite(values), nan, values), absent)
            for values in (norm, top)
        ]
        rest = [of["bad"], of["known"] - of["has"], of["zero"]]
        return np.concatenate([*levels, *rest, *parameters], 1).astype(np.float32)

    def _by_layer(self, how: np.ufunc, values: NDArray[np.floating]) -> Floats:
        reduced: Floats = how.reduceat(values[:, self._order], self._starts, axis=1)
        return reduced


def _level(values: NDArray[np.floating], of: dict[str, Floats]) -> NDArray[np.floating]:
    level = np.where(of["good"] > 0, values, np.nan)
    level = np.where(of["has"] == 0, NO_GRADIENT, level)
    return np.where(of["known"] == 0, NOT_RECORDED, level)
