"""The gradient heatmap as a matplotlib picture, with the colours of the widget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ftlab.views.style import (
    CODE_INFINITE,
    EXPLODING,
    SPECIAL,
    VANISHING,
    colours,
    quantise,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

    from ftlab.views.gradients_summary import GradientSummary

WIDEST = 700
"""Columns that a picture of 9 inches can tell apart; more are pooled (largest)."""


def draw_heat(figure: Figure | SubFigure, summary: GradientSummary, note: str) -> None:
    """Draw the layer norms, their scale and a line of marks."""
    from matplotlib.ticker import MaxNLocator

    grid = figure.add_gridspec(2, 1, height_ratios=[8, 0.28])
    heat, scale = figure.add_subplot(grid[0]), figure.add_subplot(grid[1])
    heat.set_title("Gradient norm by layer and step", fontsize=10, loc="left")
    draw_scale(scale)
    if not summary.layers or not len(summary.first_steps):
        heat.text(0.5, 0.5, "nothing recorded yet", ha="center", color="#666666")
        heat.set_axis_off()
        return
    codes = quantise(summary.shown).T
    per = -(-codes.shape[1] // WIDEST)
    codes, width = _pooled(codes, per), per * summary.stride
    first = int(summary.first_steps[0])
    last = first + codes.shape[1] * width
    heat.imshow(
        colours(codes),
        aspect="auto",
        interpolation="nearest",
        extent=(first - 0.5, last - 0.5, len(summary.layers) - 0.5, -0.5),
    )
    heat.set_facecolor("#f3f3f3")
    _label_layers(heat, summary.layers)
    heat.set_xlabel(f"step{'' if width == 1 else f' ({width} a column, largest)'}")
    heat.xaxis.set_major_locator(MaxNLocator(integer=True))
    _mark_columns(heat, codes.max(0), first, width)
    if note:
        heat.set_title(note, fontsize=7, loc="right", color="#8a4500")


def _pooled(codes: Any, per: int) -> Any:
    spare = -codes.shape[1] % per
    padded = np.pad(codes, ((0, 0), (0, spare)))
    return padded.reshape(len(codes), -1, per).max(2)


def _label_layers(heat: Any, layers: tuple[str, ...]) -> None:
    every = max(1, -(-len(layers) // 24))
    heat.set_yticks(range(0, len(layers), every), layers[::every], fontsize=7)
    heat.tick_params(axis="x", labelsize=8)


def _mark_columns(heat: Any, worst: Any, first: int, width: int) -> None:
    at = first + width * np.flatnonzero(worst >= CODE_INFINITE) + (width - 1) / 2
    heat.scatter(
        at,
        np.full(len(at), 1.012),
        marker="v",
        s=16,
        color=SPECIAL["non-finite"],
        transform=heat.get_xaxis_transform(),
        clip_on=False,
        linewidths=0,
    )


def draw_scale(axes: Any) -> None:
    """Draw the fixed colour scale and what its special colours mean."""
    from matplotlib.patches import Patch

    low, high = -8.0, 6.0
    bar = colours(quantise(10.0 ** np.linspace(low, high, 400)))[None]
    axes.imshow(bar, aspect="auto", extent=(low, high, 0, 1))
    axes.set_xlim(low, high + 15)
    axes.set_yticks([])
    marks = [np.log10(VANISHING), -3, 0, np.log10(EXPLODING)]
    words = ["1e-6 vanishing", "1e-3", "1", "1e4 exploding"]
    axes.set_xticks(marks, words, fontsize=7)
    for spine in axes.spines.values():
        spine.set_visible(False)
    patches = [
        Patch(color=SPECIAL["non-finite"], label="▼ NaN or Inf"),
        Patch(color=SPECIAL["zero"], label="exactly 0"),
        Patch(color=SPECIAL["no gradient"], label="no gradient"),
    ]
    axes.legend(
        handles=patches,
        loc="center right",
        ncols=3,
        fontsize=7,
        frameon=False,
        handlelength=1,
        columnspacing=1,
        borderpad=0,
    )
