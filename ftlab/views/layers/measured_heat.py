"""Heatmaps of what is measured now and then: layer x measurement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from ftlab.records.errors import BadValueError
from ftlab.views.charts.heat import HeatView, aligned, height_of
from ftlab.views.charts.heat_figure import HeatPicture, draw_heat
from ftlab.views.charts.scale import quantise
from ftlab.views.layers.layer_statistics import (
    MeasuredLayers,
    MeasuredSummary,
    Statistic,
)
from ftlab.views.style import count, number

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from matplotlib.figure import Figure, SubFigure

    from ftlab.runlog.run import Run
    from ftlab.views.charts.layer_columns import Floats

TEXT_LAYERS = 12
TAIL = 8
"""Columns in which the last value of every layer is looked for while a run goes on."""


class MeasuredHeatView(HeatView[MeasuredSummary]):
    """A heatmap of some statistics; subclasses list them and say what stands out."""

    statistics: ClassVar[Sequence[Statistic]] = ()
    _columns: MeasuredLayers

    def _remark(self, summary: MeasuredSummary) -> str:
        """Say what the last measurement shows, in one line."""
        raise NotImplementedError

    def table(self, by: Literal["layer", "parameter"] = "layer") -> pd.DataFrame:
        """Return the statistics by measured step and layer, or one line per parameter.

        Parameters
        ----------
        by
            ``"layer"``: columns ``step``, ``layer`` and one per statistic.
            ``"parameter"``: the last value of each statistic. NaN stands for a value
            that is NaN, and for none.
        """
        if by not in ("layer", "parameter"):
            msg = f"table(by={by!r}): allowed are 'layer' and 'parameter'."
            raise BadValueError(msg)
        if by == "layer":
            return self._table(self.summary)
        return _parameters(self.summary)

    def figure(self, statistic: str = "") -> Figure:
        """Return one statistic as a matplotlib figure, drawn without pyplot.

        Parameters
        ----------
        statistic
            Its column in `table`, or the word on its button; by default the first.
        """
        from ftlab.views.view import new_figure

        summary = self.summary
        figure = new_figure(*self.size_of(summary))
        self._draw(figure, summary, self._chosen(summary, statistic))
        return figure

    def headline(self) -> str:
        """Return in one line what the last measurement shows; empty without one."""
        with self._lock:
            self._follow()
            summary = self._columns.freeze(TAIL)
        return self._remark(summary) if _shown(summary) else ""

    def _make_columns(self, run: Run) -> MeasuredLayers:
        return MeasuredLayers(run, self.title, self.statistics)

    def _note_now(self) -> str:
        return self.headline()

    def _summarise(self) -> MeasuredSummary:
        self._follow()
        return self._columns.freeze()

    def _chosen(self, summary: MeasuredSummary, name: str) -> Statistic | None:
        if not name:
            return next(iter(summary.statistics), None)
        for one in summary.statistics:
            if name in (one.name, one.label):
                return one
        known = ", ".join(repr(one.name) for one in summary.statistics) or "none"
        msg = f"figure({name!r}): this run has the statistics {known}."
        raise BadValueError(msg)

    def _table(self, summary: MeasuredSummary) -> pd.DataFrame:
        import pandas as pd

        layers = len(summary.layers)
        data: dict[str, Any] = {
            "step": np.repeat(summary.steps, layers),
            "layer": np.tile(np.array(summary.layers, object), len(summary.steps)),
        }
        for name, values in summary.layer_values.items():
            flat = values.ravel()
            data[name] = np.where(flat < 0, np.nan, flat)
        return pd.DataFrame(data)

    def size_of(self, summary: MeasuredSummary) -> tuple[float, float]:
        """Return width and height that a drawing needs, in inches."""
        return 9.0, height_of(len(summary.layers))

    def draw_on(self, figure: Figure | SubFigure, summary: MeasuredSummary) -> None:
        """Draw the first statistic on a figure, or on a part of one."""
        self._draw(figure, summary, self._chosen(summary, ""))

    def _draw(
        self,
        figure: Figure | SubFigure,
        summary: MeasuredSummary,
        one: Statistic | None,
    ) -> None:
        if one is None or not _shown(summary):
            axes = figure.add_subplot()
            axes.text(0.5, 0.5, f"{self.title}: nothing recorded yet", ha="center")
            axes.set_axis_off()
            return
        picture = HeatPicture(
            f"{self.title}: {one.meaning}",
            summary.layers,
            summary.steps,
            quantise(summary.layer_values[one.name], one.scale),
            one.scale,
            stride=summary.stride,
            measured=True,
            smallest=one.pool == "smallest",
        )
        draw_heat(figure, picture)

    def _text(self, summary: MeasuredSummary) -> str:
        if not _shown(summary):
            return f"{self.title}: nothing recorded yet"
        first, last = int(summary.steps[0]), int(summary.steps[-1])
        head = f"{self.title}: {count(len(summary.layers), 'layer')}, "
        head += f"{count(len(summary.names), 'tensor')}, measured at "
        many = len(summary.steps) * summary.stride
        few = many == 1
        head += f"step {last}" if few else f"{many} steps, {first}-{last}"
        lines = [("layer", *(one.label for one in summary.statistics))]
        for index, layer in list(enumerate(summary.layers))[:TEXT_LAYERS]:
            words = [
                value_words(one, latest(summary.layer_values[one.name])[index])
                for one in summary.statistics
            ]
            lines.append((layer, *words))
        text = [head, *aligned(lines)]
        hidden = len(summary.layers) - TEXT_LAYERS
        if hidden > 0:
            text.append(f"... and {hidden} more layers in .table()")
        return "\n".join([*text, self._remark(summary)])


def _shown(summary: MeasuredSummary) -> bool:
    return any((values > -2).any() for values in summary.layer_values.values())


def latest(values: Floats) -> Floats:
    """Return the last recorded value of each column of ``values``."""
    recorded = ~(values <= -2)
    rows = len(values) - 1 - np.argmax(recorded[::-1], axis=0)
    return np.where(recorded.any(0), values[rows, np.arange(values.shape[1])], -2)


def value_words(one: Statistic, value: float) -> str:
    """Write a value as its scale is read: a number, a percentage, or a dash."""
    if value < 0:
        return "-"
    if one.scale.percent and np.isfinite(value):
        return f"{100 * value:.0f} %"
    return number(float(value))


def extremes(
    summary: MeasuredSummary, name: str
) -> tuple[tuple[float, str], tuple[float, str]] | None:
    """Return the smallest and the largest value of the layers now, with the layer.

    ``None`` where no layer has a finite one.
    """
    if name not in summary.layer_values:
        return None
    values = latest(summary.layer_values[name]).astype(np.float64)
    usable = np.flatnonzero(np.isfinite(values) & (values >= 0))
    if not len(usable):
        return None
    low, high = (usable[how(values[usable])] for how in (np.argmin, np.argmax))
    return (
        (float(values[low]), summary.layers[low]),
        (float(values[high]), summary.layers[high]),
    )


def not_finite(summary: MeasuredSummary) -> str:
    """Name the layers in which something is not finite now; empty where all is."""
    bad = np.zeros(len(summary.layers), bool)
    for one in summary.statistics:
        bad |= np.isnan(latest(summary.layer_values[one.name]))
    found = [summary.layers[at] for at in np.flatnonzero(bad)]
    if not found:
        return ""
    return f"NaN or Inf in {count(len(found), 'layer')}, {found[0]} first"


def _parameters(summary: MeasuredSummary) -> pd.DataFrame:
    import pandas as pd

    table = {
        "parameter": [record.name for record in summary.names],
        "layer": [record.layer for record in summary.names],
        "role": [record.meta.get("role", "") for record in summary.names],
    }
    for name, values in summary.parameter_values.items():
        if len(values):
            last = latest(values)
            table[name] = np.where(last < 0, np.nan, last).tolist()
    return pd.DataFrame(table)
