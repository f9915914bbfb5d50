"""The view of updates: how far a step moves each layer, and what it cannot move."""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from ftlab.views.charts.scale import SHARE, Scale
from ftlab.views.layers.layer_statistics import MeasuredSummary, Statistic
from ftlab.views.layers.measured_heat import (
    MeasuredHeatView,
    extremes,
    latest,
    not_finite,
)
from ftlab.views.style import count, number

SMALL, LARGE = 1e-5, 1e-2
"""Marks of the update ratio that people use by habit; they are no findings."""
LEAST_TOLD = 0.01
"""Smaller stuck shares are given without their layer."""
RATIO = Scale(
    -12.0,
    4.0,
    SMALL,
    LARGE,
    (
        (SMALL, "1e-5 small", True),
        (LARGE, "1e-2 large", True),
        (1.0, "1", False),
    ),
    (-9.0, 1.0),
    absent="weight is 0",
)
DECAY = Scale(
    0.0,
    2.0,
    None,
    None,
    ((0.0, "0 %", False), (1.0, "100 %", False), (2.0, "200 %", False)),
    (0.0, 2.0),
    absent="not known",
    linear=True,
    percent=True,
)


class UpdatesView(MeasuredHeatView):
    """How far an optimizer step moves each layer, relative to its weight.

    The update ratio is the norm of the update over the norm of the weight before it. A
    weight is stuck where its stored value stays the same though its gradient is not 0:
    in low precision an update can be too small for it. Both are measured every few
    steps, of a sample; a column is one measurement. A weight that is 0 (LoRA's B at the
    start) has no ratio.

    Examples
    --------
    >>> import numpy as np
    >>> from ftlab.records.names import NameRecord
    >>> from ftlab.records.step import Block, StepRecord
    >>> from ftlab.runlog.run import Run
    >>> from ftlab.views.layers.updates import UpdatesView
    >>> run = Run()
    >>> run.append(NameRecord(0, "tensors", "layers.0.weight", "param", "layers.0"))
    >>> values = {"update_l2": 0.002, "weight_l2": 4.0, "stuck_share": 0.25}
    >>> columns = {name: np.float32([value]) for name, value in values.items()}
    >>> run.append(Block("tensors", 0, np.zeros(1, np.int32), columns))
    >>> run.append(StepRecord(0, time=0.0))
    >>> UpdatesView(run)
    Updates: 1 layer, 1 tensor, measured at step 0
    layer      ratio  stuck
    layers.0  0.0005   25 %
    update ratio 0.0005; up to 25 % of a layer stuck (layers.0)
    """

    title = "Updates"
    statistics: ClassVar[Sequence[Statistic]] = (
        Statistic(
            "update_ratio",
            "ratio",
            "norm of the update over the norm of the weight",
            ("update_l2", "weight_l2"),
            RATIO,
        ),
        Statistic(
            "stuck_share",
            "stuck",
            "share of weights that kept their stored value, mean over parameters",
            ("stuck_share",),
            replace(SHARE, absent="none could move"),
            layer="mean",
            absent_nan=True,
        ),
        Statistic(
            "decay_share",
            "decay",
            "norm of the weight decay over the norm of the update, mean",
            ("decay_share",),
            DECAY,
            layer="mean",
            absent_nan=True,
        ),
    )

    def _remark(self, summary: MeasuredSummary) -> str:
        words = [not_finite(summary)]
        found = extremes(summary, "update_ratio")
        if found is not None:
            low, high = number(found[0][0]), number(found[1][0])
            text = f"update ratio {low}" + (f" to {high}" if low != high else "")
            words.append(text + _beyond(summary))
        found = extremes(summary, "stuck_share")
        if found is not None:
            share, layer = found[1]
            some = f"up to {100 * share:.0f} % of a layer stuck ({layer})"
            few = "less than 1 % stuck" if share > 0 else "nothing is stuck"
            words.append(some if share >= LEAST_TOLD else few)
        return "; ".join(word for word in words if word)


def _beyond(summary: MeasuredSummary) -> str:
    """Count the layers beyond the marks."""
    values = latest(summary.layer_values["update_ratio"])
    small, large = (values >= 0) & (values < SMALL), np.isfinite(values)
    parts = [
        f"{count(int(each.sum()), 'layer')} {word}"
        for each, word in (
            (small, f"below {SMALL:g}"),
            (large & (values > LARGE), f"above {LARGE:g}"),
        )
        if each.any()
    ]
    return f" (marks: {', '.join(parts)})" if parts else ""
