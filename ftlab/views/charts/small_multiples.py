"""Many small charts as one matplotlib picture.

All charts share one axes: 80 axes of their own take matplotlib seven seconds to lay
out, this takes a third of one.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ftlab.views.charts.plan import LinesSummary, Panel, Series
from ftlab.views.drawn import Canvas
from ftlab.views.style import number

Floats = NDArray[np.floating]
ACROSS = 8
DECADES = 4
"""Norms smaller than the largest one by more powers of ten stand at the bottom."""


def shape_of(panels: int) -> tuple[int, int]:
    """Return how many charts stand beside and below each other."""
    across = max(1, panels if panels <= 4 else min(ACROSS, -(-panels // 2)))
    return across, -(-max(1, panels) // across)


@dataclass(frozen=True, slots=True)
class Cell:
    """One chart's place, and the ranges that all charts share."""

    column: int
    row: int
    steps: tuple[float, float]
    powers: tuple[float, float]

    def x(self, steps: NDArray[np.int64]) -> Floats:
        """Place steps."""
        first, last = self.steps
        share: Floats = (steps - first) / max(last - first, 1)
        return self.column + 0.03 + 0.91 * share

    def y(self, values: Floats) -> Floats:
        """Place norms on a logarithmic scale; zero stands at the bottom."""
        low, high = self.powers
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.clip((np.log10(values) - low) / max(high - low, 1e-9), 0, 1)
        return np.asarray(self.row + 0.94 - 0.58 * share)


def draw_small_multiples(figure: Canvas, title: str, summary: LinesSummary) -> None:
    """Draw the panels of ``summary``, layers in reading order."""
    panels = summary.plan.panels
    across, down = shape_of(len(panels))
    axes = figure.add_subplot()
    axes.set_xlim(0, across)
    axes.set_ylim(down, 0)
    axes.set_axis_off()
    axes.set_title(title, fontsize=10, loc="left")
    powers = _powers(summary)
    steps = float(summary.first_steps[0]), float(summary.first_steps[-1])
    for index, (panel, note) in enumerate(zip(panels, summary.notes, strict=False)):
        cell = Cell(index % across, index // across, steps, powers)
        _draw_cell(axes, cell, panel, summary)
        where = cell.column + 0.03, cell.row + 0.1
        words = panel.title if across > 4 else f"{panel.title}   {note}"
        axes.text(*where, words, fontsize=7, va="center")
        if across > 4:
            short = note.replace("rank ", "r ")
            axes.text(where[0], where[1] + 0.15, short, fontsize=5.2, color="#555555")
    _draw_key(axes, panels[0], _caption(summary, powers))


def _powers(summary: LinesSummary) -> tuple[float, float]:
    rows = [one.row for panel in summary.plan.panels for one in panel.series]
    values = np.concatenate([summary.row(name) for name in dict.fromkeys(rows)])
    usable = values[np.isfinite(values) & (values > 0)]
    if not len(usable):
        return -1.0, 0.0
    high = float(np.log10(usable.max()))
    return max(float(np.log10(usable.min())), high - DECADES), high


def _draw_cell(axes: Any, cell: Cell, panel: Panel, summary: LinesSummary) -> None:
    from matplotlib.patches import Rectangle

    corner = cell.column + 0.03, cell.row + 0.34
    frame = Rectangle(corner, 0.91, 0.62, fc="#f7f7f7", ec="#d0d0d0", lw=0.6)
    axes.add_patch(frame)
    by_kind = {one.kind: one for one in panel.series}
    if "low" in by_kind and "high" in by_kind:
        bounds = [summary.row(by_kind[kind].row) for kind in ("low", "high")]
        known = np.isfinite(bounds[0]) & np.isfinite(bounds[1])
        low, high = (cell.y(values[known]) for values in bounds)
        at = cell.x(summary.first_steps[known])
        axes.fill_between(at, low, high, color=by_kind["low"].colour, alpha=0.22, lw=0)
    for series in panel.series:
        if series.kind == "line":
            _draw_line(axes, cell, series, summary)


def _draw_line(axes: Any, cell: Cell, series: Series, summary: LinesSummary) -> None:
    values = summary.row(series.row)
    known = np.isfinite(values)
    style = "." if known.sum() == 1 else "-"
    at, height = cell.x(summary.first_steps[known]), cell.y(values[known])
    axes.plot(at, height, style, color=series.colour, lw=1.0, ms=3)


def _caption(summary: LinesSummary, powers: tuple[float, float]) -> str:
    low, high = (number(10**power) for power in powers)
    first, last = int(summary.first_steps[0]), int(summary.first_steps[-1])
    text = f"Every chart: steps {first}-{last}, norms {low} to {high}, logarithmic. "
    return text + " ".join(summary.notes[len(summary.plan.panels) :])


def _draw_key(axes: Any, panel: Panel, caption: str) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = [
        Line2D([], [], color=one.colour, label=one.label)
        for one in panel.series
        if one.kind == "line"
    ]
    handles += [
        Patch(color=one.colour, alpha=0.22, label=one.label)
        for one in panel.series
        if one.kind == "low"
    ]
    axes.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(0, 0.0),
        ncols=len(handles),
        fontsize=7,
        frameon=False,
        borderpad=0,
        title=caption,
        title_fontsize=6,
        alignment="left",
    )
