"""What the gradient view shows: norms of layers and parameters by step.

`GradientColumns` follows a run and keeps bounded columns; `GradientSummary` is a frozen
copy of them. A layer's norm is the root of the summed squares of its parameters, its
max their maximum, both over finite values; how many were not finite is counted beside.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ftlab.records.names import NameRecord
from ftlab.views.charts.layer_columns import Floats, LayerColumns
from ftlab.views.charts.scale import (
    NO_GRADIENT,
    NOT_RECORDED,
    front_end_scale,
    quantise,
)
from ftlab.views.layers.gradient_marks import Mark, marks

Bools = NDArray[np.bool_]
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


class GradientColumns(LayerColumns):
    """Follows the gradients of a run, one column per step or more.

    Rows are the layers once for each of `LAYER_STATISTICS`, then the parameters' norms,
    then their maxima.
    """

    def width(self) -> int:
        """Return the number of rows of `columns`."""
        return len(LAYER_STATISTICS) * len(self.layers) + 2 * len(self.names)

    def spec(self) -> dict[str, Any]:
        """Return what the front end needs to know once."""
        return {
            "title": "Gradients",
            "empty": "No gradient recorded yet.",
            "label": "gradient of each layer over steps",
            "statistics": ["norm", "max"],
            "meanings": ["L2 norm", "largest absolute value"],
            "pools": ["largest", "largest"],
            "scales": [front_end_scale()] * 2,
        }

    def encode(self, values: Floats) -> NDArray[np.uint16]:
        """Turn columns into codes: per statistic the layers, then the parameters."""
        layers, norm, top = self._split(values)
        bad = layers["non_finite"] > 0
        of_layers = [np.where(bad, np.nan, layers[name]) for name in ("norm", "max")]
        parts = [of_layers[0], norm, of_layers[1], top]
        return quantise(np.concatenate(parts, 1))

    def _split(self, values: Floats) -> tuple[dict[str, Floats], Floats, Floats]:
        """Return the statistics of layers, and the parameters' norms and maxima."""
        count, width = len(self.layers), len(self.names)
        split = {
            name: values[:, index * count : (index + 1) * count]
            for index, name in enumerate(LAYER_STATISTICS)
        }
        return split, values[:, -2 * width : -width], values[:, -width:]

    def freeze(self) -> GradientSummary:
        """Return a summary that later steps do not change."""
        split, norm, top = self._split(self.columns.values.copy())
        return GradientSummary(
            self.layers,
            self.names,
            self.layer_of,
            self.columns.first_steps,
            self.columns.stride,
            split,
            norm,
            top,
            marks(self.layers, split["norm"][-16:]),
        )

    def tail_marks(self) -> tuple[Mark, ...]:
        """Return the marks that hold now, from the last columns only."""
        return marks(self.layers, self.columns.values[-16:, : len(self.layers)])

    def block(self, start: int, stop: int) -> tuple[NDArray[np.int64], Floats]:
        """Read the steps in ``[start, stop)`` and their columns."""
        columns = dict.fromkeys(("grad_l2", "grad_max", "has_grad"), ("high",))
        read = self.matrices(columns, start, stop)
        norm, top, has = read.values()
        if not len(norm.steps):
            return norm.steps, np.empty((0, self.width()), np.float32)
        bad = (norm.nonfinite > 0) | (top.nonfinite > 0)
        block = self._levels(
            self.place(has.known | norm.known, norm, False),
            self.place(norm.known, norm, False),
            self.place(bad, norm, False),
            self.place(norm.high, norm, np.float32(np.nan)),
            self.place(top.high, norm, np.float32(np.nan)),
        )
        return norm.steps, block

    def _levels(
        self, known: Bools, has: Bools, bad: Bools, norm: Floats, top: Floats
    ) -> Floats:
        good, lacking = has & ~bad, ~has
        squares = np.square(_but(norm, ~good, 0), dtype=np.float64)
        layer_norm = np.sqrt(self.by_layer(np.add, squares))
        layer_max = self.by_layer(np.maximum, _but(top, ~good, 0))
        counts = {
            "known": known,
            "has": has,
            "good": good,
            "bad": bad,
            "zero": good & (norm == 0),
        }
        of = {key: self.count_by_layer(value) for key, value in counts.items()}
        levels = [_level(values, of) for values in (layer_norm, layer_max)]
        absent = np.where(known[lacking], NO_GRADIENT, NOT_RECORDED)
        parameters = [
            _but(_but(values, bad & np.isfinite(values), np.nan), lacking, absent)
            for values in (norm, top)
        ]
        rest = [of["bad"], of["known"] - of["has"], of["zero"]]
        every = [*levels, *rest, *parameters]
        return np.concatenate(every, 1, dtype=np.float32, casting="same_kind")


def _but(values: Floats, where: Bools, others: Any) -> Floats:
    """Return a copy that holds ``others`` in some places: faster than all of them."""
    changed = values.copy()
    changed[where] = others
    return changed


def _level(values: NDArray[np.floating], of: dict[str, Floats]) -> NDArray[np.floating]:
    level = np.where(of["good"] > 0, values, np.nan)
    level = np.where(of["has"] == 0, NO_GRADIENT, level)
    return np.where(of["known"] == 0, NOT_RECORDED, level)
