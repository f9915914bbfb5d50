"""Statistics of layers that are measured now and then, as columns of a heatmap.

A `Statistic` says which columns of the table ``tensors`` it reads and how the values of
a layer's parameters become one; `MeasuredLayers` follows a run with a list of them,
one column per measurement; a `MeasuredSummary` is a frozen copy.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ftlab.records.names import NameRecord
from ftlab.runlog.matrix import PARTS, Matrix
from ftlab.runlog.run import Run
from ftlab.views.charts.columns import Columns, MeasuredColumns, Pool, Values
from ftlab.views.charts.layer_columns import Floats, LayerColumns
from ftlab.views.charts.scale import (
    NO_GRADIENT,
    NOT_RECORDED,
    Scale,
    front_end_scale,
    quantise,
)

Doubles = NDArray[np.float64]
Bools = NDArray[np.bool_]
RAW_STEPS = 32_768
"""A longer run is read from its roll-ups: no picture has more columns than those."""


@dataclass(frozen=True, slots=True)
class Statistic:
    """One thing that is shown of every layer and parameter.

    Attributes
    ----------
    name, label, meaning
        The table's column, the word on the button, and the sentence behind it.
    reads
        A column of the table ``tensors``, or two: then it is the first over the second.
    layer
        How a layer's value comes of its parameters': the root of the summed squares
        (of two columns each), their mean, the smallest or the largest.
    absent_nan
        Whether NaN says that there is no value, instead of being the value.
    """

    name: str
    label: str
    meaning: str
    reads: tuple[str, ...]
    scale: Scale
    layer: Literal["root", "mean", "smallest", "largest"] = "root"
    absent_nan: bool = False

    @property
    def pool(self) -> str:
        """Which of several values is the one worth seeing."""
        return "smallest" if self.layer == "smallest" else "largest"


@dataclass(frozen=True, slots=True)
class MeasuredSummary:
    """Values by measurement and layer or parameter.

    Attributes
    ----------
    steps, stride
        The (first) step of each column, and how many measurements it stands for.
    layer_values, parameter_values
        By name of the statistic, float32 of shape ``(columns, layers)`` and ``(columns,
        parameters)``: `NO_GRADIENT` where there is no value, `NOT_RECORDED` where
        nothing was measured.
    """

    statistics: tuple[Statistic, ...]
    layers: tuple[str, ...]
    names: tuple[NameRecord, ...]
    steps: NDArray[np.int64]
    stride: int
    layer_values: dict[str, Floats]
    parameter_values: dict[str, Floats]


class MeasuredLayers(LayerColumns):
    """Follows those of ``wanted`` statistics that the run has."""

    def __init__(self, run: Run, title: str, wanted: Sequence[Statistic]) -> None:
        self._title = title
        self._wanted = tuple(wanted)
        self.statistics: tuple[Statistic, ...] = ()
        super().__init__(run)

    def width(self) -> int:
        """Return the number of rows of `columns`."""
        return len(self.statistics) * (len(self.layers) + len(self.names))

    def spec(self) -> dict[str, Any]:
        """Return what the front end needs to know once."""
        return {
            "title": self._title,
            "empty": f"{self._title}: nothing recorded yet.",
            "label": f"{self._title.lower()} of each layer over measured steps",
            "statistics": [one.label for one in self.statistics],
            "meanings": [one.meaning for one in self.statistics],
            "pools": [one.pool for one in self.statistics],
            "scales": [front_end_scale(one.scale) for one in self.statistics],
        }

    def encode(self, values: Floats) -> NDArray[np.uint16]:
        """Turn columns into codes: per statistic the layers, then the parameters."""
        parts = [
            quantise(values[:, self._rows_of(at)], one.scale)
            for at, one in enumerate(self.statistics)
        ]
        return np.concatenate(parts, 1) if parts else np.empty((0, 0), np.uint16)

    def freeze(self, tail: int = 0) -> MeasuredSummary:
        """Return a summary that later steps do not change, of the ``tail`` if given."""
        values = self.columns.values[-tail:].copy()
        count = len(self.layers)
        each = {
            one.name: values[:, self._rows_of(at)]
            for at, one in enumerate(self.statistics)
        }
        return MeasuredSummary(
            self.statistics,
            self.layers,
            self.names,
            self.columns.first_steps[-tail:],
            self.columns.stride,
            {name: part[:, :count] for name, part in each.items()},
            {name: part[:, count:] for name, part in each.items()},
        )

    def block(self, start: int, stop: int) -> tuple[NDArray[np.int64], Floats]:
        """Read what was measured in ``[start, stop)``."""
        names = (name for one in self.statistics for name in one.reads)
        read = self.matrices(dict.fromkeys(names, PARTS), start, stop)
        if not any(len(matrix.steps) for matrix in read.values()):
            return np.empty(0, np.int64), np.empty((0, self.width()), np.float32)
        known = np.stack([matrix.known.any(1) for matrix in read.values()])
        measured = np.flatnonzero(known.any(0))
        read = {name: matrix.at(measured) for name, matrix in read.items()}
        parts = [part for one in self.statistics for part in self._levels(one, read)]
        steps = next(iter(read.values())).steps
        return steps, np.concatenate(parts, 1).astype(np.float32)

    def _recorded(self) -> tuple[Statistic, ...]:
        have = set(self._run.columns("tensors"))
        return tuple(one for one in self._wanted if have.issuperset(one.reads))

    def _signature(self) -> Hashable:
        names = tuple(one.name for one in self._recorded())
        return len(self._run.names("tensors")), names

    def _rebuild(self) -> None:
        self.statistics = self._recorded()
        super()._rebuild()

    def _make_columns(self, capacity: int) -> Columns:
        smallest = np.zeros(self.width(), bool)
        for at, one in enumerate(self.statistics):
            smallest[self._rows_of(at)] = one.pool == "smallest"
        pool = worse_of(smallest)
        return MeasuredColumns(
            self.width(), capacity=capacity, empty=NOT_RECORDED, pool=pool
        )

    def _choose_resolution(self) -> int:
        steps = self._run.last_step + 1
        by_steps = 1 if steps <= RAW_STEPS else 64 if steps <= 64 * RAW_STEPS else 4096
        return max(by_steps, super()._choose_resolution())

    def _rows_of(self, at: int) -> slice:
        each = len(self.layers) + len(self.names)
        return slice(at * each, (at + 1) * each)

    def _levels(self, one: Statistic, read: dict[str, Matrix]) -> tuple[Doubles, ...]:
        """Return the levels of layers and of parameters."""
        parts = [self._part(one, read[name]) for name in one.reads]
        known = np.logical_and.reduce([part[0] for part in parts])
        values = [part[1] for part in parts]
        finite = known & np.logical_and.reduce([np.isfinite(each) for each in values])
        members = [np.where(finite, each, 0.0) for each in values]
        if one.layer == "root":
            sums = [np.sqrt(self.by_layer(np.add, each**2)) for each in members]
        elif one.layer == "mean":
            count = self.by_layer(np.add, finite.astype(np.float64))
            total = self.by_layer(np.add, members[0])
            sums = [total / np.maximum(count, 1)]
        else:
            how, empty = _EXTREMES[one.layer]
            sums = [self.by_layer(how, np.where(finite, values[0], empty))]
        has = [finite, self.by_layer(np.logical_or, finite)]
        bad = [known & ~finite, self.by_layer(np.logical_or, known & ~finite)]
        seen = [known, self.by_layer(np.logical_or, known)]
        of_each = _ratio(values), _ratio(sums)
        each, layers = (
            _level(of_each[at], seen[at], has[at], bad[at], one.absent_nan)
            for at in range(2)
        )
        return layers, each

    def _part(self, one: Statistic, matrix: Matrix) -> tuple[Bools, Doubles]:
        chosen = {"smallest": matrix.low, "mean": matrix.values}
        values = chosen.get(one.layer, matrix.high).astype(np.float64)
        if not one.absent_nan:
            values = np.where(matrix.nonfinite > 0, np.nan, values)
        return (
            self.place(matrix.known, matrix, False),
            self.place(values, matrix, np.nan),
        )


_EXTREMES = {"smallest": (np.minimum, np.inf), "largest": (np.maximum, -np.inf)}


def _ratio(parts: Sequence[Doubles]) -> Doubles:
    if len(parts) == 1:
        return parts[0]
    over = np.where(parts[1] > 0, parts[1], np.nan)
    return np.where(parts[1] > 0, parts[0] / over, NO_GRADIENT)


def _level(
    values: Doubles, known: Bools, has: Bools, bad: Bools, absent_nan: bool
) -> Doubles:
    level = np.where(has, values, NO_GRADIENT)
    if not absent_nan:
        level = np.where(bad, np.nan, level)
    return np.where(known, level, NOT_RECORDED)


def worse_of(smallest: Bools) -> Pool:
    """Keep the value worth seeing: NaN, then the smallest or the largest number.

    Parameters
    ----------
    smallest
        Whether a row's smallest value is the one worth seeing.
    """

    def pool(older: Values, newer: Values, _old: Values, _new: Values) -> Values:
        top = np.maximum(older, newer)
        low = np.minimum(older, newer)
        return np.where(smallest & (low >= 0), low, top)

    return pool
