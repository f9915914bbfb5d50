"""A dataset as a picture: lengths beside the limit, and shares of faults."""

import numpy as np
from numpy.typing import NDArray

from ftlab.records.data_scan import DataScan, Lengths
from ftlab.views.drawn import Axes, Canvas
from ftlab.views.style import SERIES, SEVERITY

BINS = 40
SHOWN = 12
"""Kinds of faults that are drawn."""

SMALLEST = 1e-5
"""Share of rows at which the logarithmic axis of faults begins."""


def height_of(scan: DataScan) -> float:
    """Return the height that the picture needs, in inches."""
    return 2.8 + 0.22 * max(0, min(len(scan.issues), SHOWN) - 6)


def draw_data(figure: Canvas, scan: DataScan) -> None:
    """Draw lengths on the left, and what was found on the right."""
    if not scan.issues:
        _lengths(figure.subplots(), scan.lengths)
        return
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    _lengths(left, scan.lengths)
    _shares(right, scan)


def length_bins(known: Lengths) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return borders of lengths, and how many rows lie between each two.

    Even steps up to the length that 99 % of the rows do not exceed, or to the limit;
    the last one holds all that is longer.
    """
    end = max(known.quantile(0.99), min(known.limit, known.longest), BINS)
    borders = np.linspace(0, end, BINS + 1)
    at = np.clip(np.searchsorted(borders, known.sizes, "left") - 1, 0, BINS - 1)
    return borders, np.bincount(at, known.rows, BINS).astype(np.int64)


def _lengths(axes: Axes, known: Lengths) -> None:
    borders, rows = length_bins(known)
    inside = borders[:-1] < known.limit if known.limit else np.ones(BINS, bool)
    colours = np.where(inside, SERIES[0], SERIES[1])
    axes.bar(borders[:-1], rows, np.diff(borders), align="edge", color=colours)
    if known.limit and known.limit <= borders[-1]:
        axes.axvline(known.limit, color="black", linewidth=1, linestyle="--")
        axes.annotate(
            f" {known.limit_from} {known.limit:,}",
            (known.limit, 1),
            xycoords=("data", "axes fraction"),
            va="top",
            fontsize=8,
        )
    longer = (
        ", the last bar includes longer ones" if known.longest > borders[-1] else ""
    )
    axes.set(xlabel=f"{known.unit} per row{longer}", ylabel="rows", title="Lengths")


def _shares(axes: Axes, scan: DataScan) -> None:
    shown = scan.issues[:SHOWN]
    at = np.arange(len(shown))
    shares = [max(issue.share, SMALLEST) for issue in shown]
    colours = [SEVERITY[issue.severity.label] for issue in shown]
    axes.barh(at, shares, left=SMALLEST / 10, color=colours)
    axes.set_xscale("log")
    axes.set_xlim(SMALLEST / 10, 1)
    labels = [f"{issue.severity.label}  {issue.name}" for issue in shown]
    axes.set_yticks(at, labels, fontsize=8)
    axes.invert_yaxis()
    hidden = len(scan.issues) - len(shown)
    more = f", {hidden} more" if hidden else ""
    axes.set(xlabel="share of the rows", title=f"Found{more}")
