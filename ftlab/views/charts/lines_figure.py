"""Panels of line charts as a matplotlib picture."""

import textwrap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ftlab.views.charts.plan import LinesSummary, Panel, Series
from ftlab.views.charts.small_multiples import draw_small_multiples
from ftlab.views.drawn import Canvas
from ftlab.views.style import number

WIDE = 300.0
"""Largest over smallest value from which on only powers of ten are written."""

TICKS = 8
"""At most so many powers of ten have a number."""


def draw_panels(figure: Canvas, title: str, summary: LinesSummary) -> None:
    """Draw every panel of ``summary``."""
    panels = summary.plan.panels
    if not panels or not len(summary.first_steps):
        axes = figure.add_subplot()
        axes.text(0.5, 0.5, f"{title}: nothing recorded yet", ha="center")
        axes.set_axis_off()
        return
    if summary.plan.compact:
        draw_small_multiples(figure, title, summary)
        return
    grid = figure.subplots(1, len(panels), squeeze=False, sharex=True)
    for axes, panel, note in zip(grid[0], panels, summary.notes, strict=False):
        _draw_panel(axes, panel, note, summary)
    rest = " ".join(summary.notes[len(panels) :])
    if rest:
        # a dollar sign would be taken for mathematics
        figure.supxlabel(rest.replace("$", r"\$"), x=0.012, ha="left", fontsize=7)


def _draw_panel(axes: Any, panel: Panel, note: str, summary: LinesSummary) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    head = panel.title + (f" ({panel.unit})" if panel.unit else "")
    axes.set_title(f"{head}\n{_wrapped(note)}", fontsize=8, loc="left")
    axes.tick_params(labelsize=7)
    axes.grid(alpha=0.25)
    rows = {series.row: summary.row(series.row) for series in panel.series}
    drawn = [rows[series.row] for series in panel.series if series.kind != "mark"]
    positive = np.concatenate([np.empty(0), *(each[each > 0] for each in drawn)])
    if panel.log and positive.size:
        # zero stands at the bottom of the chart, where a logarithm has no place for it
        axes.set_yscale("log", nonpositive="clip")
        wide = positive.max() / positive.min() > WIDE
        axes.yaxis.set_major_locator(
            LogLocator(subs=(1.0,) if wide else (1.0, 2.0, 5.0), numticks=TICKS)
        )
        axes.yaxis.set_major_formatter(FuncFormatter(lambda at, _: number(at)))
        axes.yaxis.set_minor_formatter(NullFormatter())
    if panel.floor is not None:
        axes.axhline(panel.floor, alpha=0)  # widens the axis, draws nothing
    for series in panel.series:
        _draw_series(axes, series, summary.first_steps, rows[series.row])
    low = [rows[series.row] for series in panel.series if series.kind == "low"]
    high = [rows[series.row] for series in panel.series if series.kind == "high"]
    if low and high:
        colour = next(one.colour for one in panel.series if one.kind == "low")
        axes.fill_between(
            summary.first_steps, low[0], high[0], color=colour, alpha=0.22, lw=0
        )
    if _labelled(axes):
        axes.legend(fontsize=7, frameon=False, loc="best")


def _labelled(axes: Any) -> bool:
    return bool(axes.get_legend_handles_labels()[1])


def _draw_series(
    axes: Any, series: Series, steps: NDArray[np.int64], values: NDArray[np.float32]
) -> None:
    known = ~np.isnan(values)
    if not known.any() or series.kind in ("low", "high"):
        return
    if series.kind == "mark":
        at = steps[known & (values > 0)]
        axes.scatter(
            at,
            np.ones(len(at)),
            marker="v",
            s=22,
            color=series.colour,
            transform=axes.get_xaxis_transform(),
            clip_on=False,
            label=series.label if len(at) else None,
            linewidths=0,
            zorder=3,
        )
        return
    style = "o" if series.kind == "dots" or known.sum() == 1 else "-"
    plan = series.kind == "plan"
    axes.plot(
        steps[known],
        values[known],
        style,
        color=series.colour,
        lw=6 if plan else 1.2,
        alpha=0.3 if plan else 1,
        ms=3,
        label=series.label,
    )


def _wrapped(note: str) -> str:
    return "\n".join(textwrap.wrap(note, 46))
