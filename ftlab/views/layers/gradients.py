"""The gradient view: a layer x step heatmap with a fixed colour scale."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from ftlab.runlog.run import Run
from ftlab.views.charts.heat import HeatView, layer_lines, layer_table
from ftlab.views.charts.heat_figure import HeatPicture, draw_heat
from ftlab.views.charts.scale import quantise
from ftlab.views.drawn import Canvas, DataFrame
from ftlab.views.layers.gradient_marks import Mark
from ftlab.views.layers.gradients_summary import GradientColumns, GradientSummary
from ftlab.views.style import count, number


class GradientView(HeatView[GradientSummary]):
    """Gradients of every layer and parameter over the steps of a run.

    The gradients are those of the whole step: accumulated, in true scale, before
    clipping. In the widget, pointing at a cell gives the values of its parameters, and
    clicking opens a parameter's history; both work while a cell is running.

    Examples
    --------
    >>> import numpy as np
    >>> from ftlab.records.names import NameRecord
    >>> from ftlab.records.step import Block, StepRecord
    >>> from ftlab.runlog.run import Run
    >>> from ftlab.views.layers.gradients import GradientView
    >>> run = Run()
    >>> run.append(NameRecord(0, "tensors", "layers.0.weight", "param", "layers.0"))
    >>> one = np.array([0.5], dtype=np.float32)
    >>> for step in range(3):
    ...     values = {"grad_l2": one, "grad_max": one, "has_grad": one * 2}
    ...     run.append(Block("tensors", step, np.zeros(1, np.int32), values))
    ...     run.append(StepRecord(step, time=0.0))
    >>> GradientView(run)
    Gradients: 1 layer, 1 tensor, steps 0-2
    layer     norm  median  max  non-finite  no gradient
    layers.0   0.5     0.5  0.5           0            0
    """

    title = "Gradients"

    _columns: GradientColumns

    def _make_columns(self, run: Run) -> GradientColumns:
        return GradientColumns(run)

    def _note_now(self) -> str:
        return _note(self._columns.tail_marks())

    def table(self, by: Literal["layer", "parameter"] = "layer") -> DataFrame:
        """Return norms by layer and step, or one line per parameter.

        Parameters
        ----------
        by
            ``"layer"``: columns ``step``, ``layer``, ``norm``, ``max`` and the number
            of the layer's tensors that were ``non_finite``, had ``no_gradient`` or
            were exactly ``zero``. ``"parameter"``: the last and the largest norm, the
            last max, and how many steps were non-finite or without gradient.
        """
        return self._table_by(by)

    def _summarise(self) -> GradientSummary:
        self._follow()
        return self._columns.freeze()

    def _table(self, summary: GradientSummary) -> DataFrame:
        columns = {
            name: np.where(values < 0, np.nan, values)
            if name in ("norm", "max")
            else np.maximum(values, 0).astype(np.int64)
            for name, values in summary.layer_values.items()
        }
        return layer_table(summary.first_steps, summary.layers, columns)

    def _parameter_columns(self, summary: GradientSummary) -> Mapping[str, Any]:
        import pandas as pd

        norm, bad = summary.norm, ~np.isfinite(summary.norm)
        largest = np.where(bad | (norm < 0), -1, norm).max(0, initial=-1)
        first = [
            int(summary.first_steps[np.argmax(each)]) if each.any() else None
            for each in bad.T
        ]
        return {
            "norm": [_last(each) for each in norm.T],
            "largest_norm": np.where(largest < 0, np.nan, largest.astype(float)),
            "max": [_last(each) for each in summary.max.T],
            "non_finite": bad.sum(0),
            "first_non_finite": pd.array(first, "Int64"),
            "no_gradient": (norm == -1).sum(0),
        }

    def draw_on(self, figure: Canvas, summary: GradientSummary) -> None:
        """Draw ``summary`` on a figure, or on a part of one."""
        picture = HeatPicture(
            "Gradient norm by layer and step",
            summary.layers,
            summary.first_steps,
            quantise(summary.shown),
            stride=summary.stride,
            note=_note(summary.marks),
        )
        draw_heat(figure, picture)

    def _text(self, summary: GradientSummary) -> str:
        if not len(summary.first_steps) or not summary.layers:
            return "Gradients: nothing recorded yet"
        norm, top = (summary.layer_values[name] for name in ("norm", "max"))

        def words(index: int) -> tuple[str, ...]:
            usable = norm[:, index][np.isfinite(norm[:, index]) & (norm[:, index] >= 0)]
            median = number(float(np.median(usable))) if len(usable) else "-"
            bad, none = (
                str(int((summary.layer_values[name][:, index] > 0).sum()))
                for name in ("non_finite", "no_gradient")
            )
            return _level(norm[-1, index]), median, _level(top[-1, index]), bad, none

        head = ("norm", "median", "max", "non-finite", "no gradient")
        text = [_headline(summary), *layer_lines(head, summary.layers, words)]
        if summary.marks:
            text.append(_note(summary.marks))
        return "\n".join(text)


def _headline(summary: GradientSummary) -> str:
    last = int(summary.first_steps[-1]) + summary.stride - 1
    sizes = f"{count(len(summary.layers), 'layer')}, "
    sizes += count(len(summary.names), "tensor")
    text = f"Gradients: {sizes}, steps {int(summary.first_steps[0])}-{last}"
    if summary.stride > 1:
        text += f", {summary.stride} steps a column (largest)"
    return text


def _level(value: float) -> str:
    if value < 0:
        return "none" if value == -1 else "-"
    return number(float(value))


def _note(marks: Sequence[Mark]) -> str:
    """Say the marks in one line, the strongest of each kind by name."""
    said = []
    for kind in dict.fromkeys(mark.kind for mark in marks):
        same = [mark for mark in marks if mark.kind == kind]
        first = min(same, key=lambda mark: mark.value)
        more = f", and {count(len(same) - 1, 'more layer')}" if len(same) > 1 else ""
        said.append(f"{first.layer} {first.text}{more}")
    return "Marks: " + "; ".join(said) if said else ""


def _last(column: Any) -> float:
    recorded = column[~(column < 0)]
    return float(recorded[-1]) if len(recorded) else float("nan")
