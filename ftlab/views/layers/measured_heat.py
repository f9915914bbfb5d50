"""Heatmaps of what is measured now and then: layer x measurement."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from ftlab.records.errors import BadValueError
from ftlab.runlog.run import Run
from ftlab.views.charts.heat import HeatView, layer_lines, layer_table
from ftlab.views.charts.heat_figure import HeatPicture, draw_heat
from ftlab.views.charts.layer_columns import Floats
from ftlab.views.charts.scale import quantise
from ftlab.views.drawn import Canvas, DataFrame, Figure
from ftlab.views.layers.layer_statistics import (
    MeasuredLayers,
    MeasuredSummary,
    Statistic,
)
from ftlab.views.style import count, number
from ftlab.views.view import new_figure

TAIL = 8
"""Columns in which the last value of every layer is looked for while a run goes on."""


class MeasuredHeatView(HeatView[MeasuredSummary]):
    """A heatmap of some statistics; subclasses list them and say what stands out."""

    statistics: ClassVar[Sequence[Statistic]] = ()
    _columns: MeasuredLayers

    def _remark(self, summary: MeasuredSummary) -> str:
        """Say what the last measurement shows, in one line."""
        raise NotImplementedError

    def table(self, by: Literal["layer", "parameter"] = "layer") -> DataFrame:
        """Return the statistics by measured step and layer, or one line per parameter.

        Parameters
        ----------
        by
            ``"layer"``: columns ``step``, ``layer`` and one per statistic.
            ``"parameter"``: the last value of each statistic. NaN stands for a value
            that is NaN, and for none.
        """
        return self._table_by(by)

    def figure(self, statistic: str = "") -> Figure:
        """Return one statistic as a matplotlib figure, drawn without pyplot.

        Parameters
        ----------
        statistic
            Its column in `table`, or the word on its button; by default the first.
        """
        summary = self.summary
        figure = new_figure(*self.size_of(summary))
        self.draw_on(figure, summary, statistic)
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

    def _table(self, summary: MeasuredSummary) -> DataFrame:
        columns = {
            name: np.where(values < 0, np.nan, values)
            for name, values in summary.layer_values.items()
        }
        return layer_table(summary.steps, summary.layers, columns)

    def _parameter_columns(self, summary: MeasuredSummary) -> Mapping[str, Any]:
        values = summary.parameter_values.items()
        found = {name: latest(each) for name, each in values if len(each)}
        return {
            name: np.where(last < 0, np.nan, last).tolist()
            for name, last in found.items()
        }

    def draw_on(
        self, figure: Canvas, summary: MeasuredSummary, statistic: str = ""
    ) -> None:
        """Draw a statistic, by default the first, on a figure or a part of one."""
        one = self._chosen(summary, statistic)
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
        head += f"step {last}" if many == 1 else f"{many} steps, {first}-{last}"
        shown = summary.statistics
        now = [(one, latest(summary.layer_values[one.name])) for one in shown]
        lines = layer_lines(
            [one.label for one in shown],
            summary.layers,
            lambda at: [value_words(one, values[at]) for one, values in now],
        )
        return "\n".join([head, *lines, self._remark(summary)])


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
