"""The view of optimizer moments: a layer x measurement heatmap."""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from ftlab.views.charts.scale import SHARE, Scale
from ftlab.views.layers.layer_statistics import MeasuredSummary, Statistic
from ftlab.views.layers.measured_heat import MeasuredHeatView, extremes, not_finite
from ftlab.views.style import number

FLOOR = 1e-10
"""Below it a second moment is next to nothing; a mark, not a finding."""
LEAST_TOLD = 0.01
"""Smaller shares are in the heatmap and in the table only."""
NORM = Scale(
    -16.0,
    8.0,
    1e-8,
    1e2,
    ((1e-8, "1e-8", False), (1e-4, "1e-4", False), (1.0, "1", False)),
    (-10.0, 4.0),
    absent="no moment",
)
SQUARES = Scale(
    -28.0,
    12.0,
    1e-16,
    1e4,
    ((1e-16, "1e-16", False), (FLOOR, "1e-10 floor", True), (1.0, "1", False)),
    (-20.0, 6.0),
    absent="no moment",
)


class MomentsView(MeasuredHeatView):
    """The moments that the optimizer keeps, of every layer and parameter.

    Of Adam and its kin: the first moment is the running mean of the gradients, the
    second that of their squares. They are measured every few steps; a column is one
    measurement. Codes of 8-bit optimizers are no moments and are left out.

    Examples
    --------
    >>> import numpy as np
    >>> from ftlab.records.names import NameRecord
    >>> from ftlab.records.step import Block, StepRecord
    >>> from ftlab.runlog.run import Run
    >>> from ftlab.views.layers.moments import MomentsView
    >>> run = Run()
    >>> run.append(NameRecord(0, "tensors", "layers.0.weight", "param", "layers.0"))
    >>> values = {"moment1_l2": np.float32([0.5]), "moment2_min": np.float32([1e-12])}
    >>> run.append(Block("tensors", 0, np.zeros(1, np.int32), values))
    >>> run.append(StepRecord(0, time=0.0))
    >>> MomentsView(run)
    Optimizer moments: 1 layer, 1 tensor, measured at step 0
    layer     first  smallest second
    layers.0    0.5            1e-12
    first moment 0.5
    """

    title = "Optimizer moments"
    statistics: ClassVar[Sequence[Statistic]] = (
        Statistic(
            "first_moment",
            "first",
            "L2 norm of the first moment",
            ("moment1_l2",),
            NORM,
        ),
        Statistic(
            "second_moment",
            "second",
            "L2 norm of the second moment",
            ("moment2_l2",),
            SQUARES,
        ),
        Statistic(
            "smallest_second_moment",
            "smallest second",
            "smallest element of the second moment",
            ("moment2_min",),
            SQUARES,
            layer="smallest",
        ),
        Statistic(
            "largest_second_moment",
            "largest second",
            "largest element of the second moment",
            ("moment2_max",),
            SQUARES,
            layer="largest",
        ),
        Statistic(
            "floor_share",
            "below 1e-10",
            "share of the second moment that is below 1e-10, mean over parameters",
            ("floor_share",),
            replace(SHARE, absent="first moment is 0"),
            layer="mean",
            absent_nan=True,
        ),
        Statistic(
            "eps_share",
            "eps outweighs",
            "share of the second moment that eps outweighs, mean over parameters",
            ("eps_share",),
            replace(SHARE, absent="not known"),
            layer="mean",
            absent_nan=True,
        ),
    )

    def _remark(self, summary: MeasuredSummary) -> str:
        words = [not_finite(summary)]
        name, title = "second_moment", "second"
        if name not in summary.layer_values:
            name, title = "first_moment", "first"
        found = extremes(summary, name)
        if found is not None:
            low, high = number(found[0][0]), number(found[1][0])
            words.append(f"{title} moment {low}" + (f" to {high}" * (low != high)))
        found = extremes(summary, "eps_share")
        if found is not None:
            share, layer = found[1]
            some = f"eps outweighs up to {100 * share:.0f} % of it ({layer})"
            words.append(some if share >= LEAST_TOLD else "eps outweighs none of it")
        return "; ".join(word for word in words if word)
