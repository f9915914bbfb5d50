"""The gradient view: a layer x step heatmap with a fixed colour scale."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ftlab.records.errors import BadValueError
from ftlab.views.charts.heat import HeatView, aligned, height_of
from ftlab.views.charts.heat_figure import HeatPicture, draw_heat
from ftlab.views.charts.scale import quantise
from ftlab.views.layers.gradient_marks import Mark
from ftlab.views.layers.gradients_summary import GradientColumns, GradientSummary
from ftlab.views.style import count, number

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from matplotlib.figure import Figure, SubFigure

    from ftlab.runlog.run import Run

TEXT_LAYERS = 12


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

    def table(self, by: Literal["layer", "parameter"] = "layer") -> pd.DataFrame:
        """Return norms by layer and step, or one line per parameter.

        Parameters
        ----------
        by
            ``"layer"``: columns ``step``, ``layer``, ``norm``, ``max`` and the number
            of the layer's tensors that were ``non_finite``, had ``no_gradient`` or
            were exactly ``zero``. ``"parameter"``: the last and the largest norm, the
            last max, and how many steps were non-finite or without gradient.
        """
        if by not in ("layer", "parameter"):
            msg = f"table(by={by!r}): allowed are 'layer' and 'parameter'."
            raise BadValueError(msg)
        if by == "layer":
            return self._table(self.summary)
        return _parameters(self.summary)

    def _summarise(self) -> GradientSummary:
        self._follow()
        return self._columns.freeze()

    def _table(self, summary: GradientSummary) -> pd.DataFrame:
        import pandas as pd

        columns, layers = len(summary.first_steps), len(summary.layers)
        data: dict[str, Any] = {
            "step": np.repeat(summary.first_steps, layers),
            "layer": np.tile(np.array(summary.layers, object), columns),
        }
        for name, values in summary.layer_values.items():
            flat = values.ravel()
            if name in ("norm", "max"):
                data[name] = np.where(flat < 0, np.nan, flat)
            else:
                data[name] = np.maximum(flat, 0).astype(np.int64)
        return pd.DataFrame(data)

    def size_of(self, summary: GradientSummary) -> tuple[float, float]:
        """Return width and height that a drawing needs, in inches."""
        return 9.0, height_of(len(summary.layers))

    def draw_on(self, figure: Figure | SubFigure, summary: GradientSummary) -> None:
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
        lines: list[tuple[str, ...]] = [
            ("layer", "norm", "median", "max", "non-finite", "no gradient")
        ]
        for index, layer in list(enumerate(summary.layers))[:TEXT_LAYERS]:
            usable = norm[:, index][np.isfinite(norm[:, index]) & (norm[:, index] >= 0)]
            median = number(float(np.median(usable))) if len(usable) else "-"
            bad, none = (
                str(int((summary.layer_values[name][:, index] > 0).sum()))
                for name in ("non_finite", "no_gradient")
            )
            last = _level(norm[-1, index]), median, _level(top[-1, index])
            lines.append((layer, *last, bad, none))
        text = [_headline(summary), *aligned(lines)]
        hidden = len(summary.layers) - TEXT_LAYERS
        if hidden > 0:
            text.append(f"... and {hidden} more layers in .table()")
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


def _parameters(summary: GradientSummary) -> pd.DataFrame:
    import pandas as pd

    norm, top = summary.norm, summary.max
    finite = np.where(np.isfinite(norm) & (norm >= 0), norm, np.nan)
    lines = []
    for index, record in enumerate(summary.names):
        column = norm[:, index]
        usable = finite[:, index][~np.isnan(finite[:, index])]
        bad = ~np.isfinite(column)
        lines.append(
            {
                "parameter": record.name,
                "layer": record.layer,
                "role": record.meta.get("role", ""),
                "norm": _last(column),
                "largest_norm": float(usable.max()) if len(usable) else np.nan,
                "max": _last(top[:, index]),
                "non_finite": int(bad.sum()),
                "first_non_finite": _first(summary, bad),
                "no_gradient": int((column == -1).sum()),
            }
        )
    table = pd.DataFrame(lines)
    if lines:
        table["first_non_finite"] = table["first_non_finite"].astype("Int64")
    return table


def _last(column: Any) -> float:
    recorded = column[~(column < 0)]
    return float(recorded[-1]) if len(recorded) else float("nan")


def _first(summary: GradientSummary, where: Any) -> int | None:
    return int(summary.first_steps[int(np.argmax(where))]) if where.any() else None
