"""A heatmap as a matplotlib picture, with the colours of the widget."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ftlab.views.charts.scale import (
    CODE_INFINITE,
    CODE_NO_GRADIENT,
    GRADIENT,
    Scale,
    colours,
    quantise,
)
from ftlab.views.drawn import Canvas
from ftlab.views.style import SPECIAL

WIDEST = 700
"""Columns that a picture of 9 inches can tell apart; more are pooled (largest)."""


@dataclass(frozen=True, slots=True)
class HeatPicture:
    """What a picture of a heatmap shows.

    Attributes
    ----------
    codes
        Of shape ``(columns, layers)``, see `ftlab.views.charts.scale.quantise`.
    stride
        Steps (or measurements) that a column stands for.
    measured
        Whether columns are measurements at uneven steps.
    smallest
        Whether the smallest of several values is the one to show.
    """

    title: str
    layers: tuple[str, ...]
    first_steps: NDArray[np.int64]
    codes: NDArray[np.uint16]
    scale: Scale = GRADIENT
    stride: int = 1
    note: str = ""
    measured: bool = False
    smallest: bool = False


def draw_heat(figure: Canvas, picture: HeatPicture) -> None:
    """Draw the layers, their scale and a line of remarks."""
    grid = figure.add_gridspec(2, 1, height_ratios=[8, 0.28])
    heat, scale = figure.add_subplot(grid[0]), figure.add_subplot(grid[1])
    heat.set_title(picture.title, fontsize=10, loc="left")
    draw_scale(scale, picture.scale)
    if not picture.layers or not len(picture.first_steps):
        heat.text(0.5, 0.5, "nothing recorded yet", ha="center", color="#666666")
        heat.set_axis_off()
        return
    per = -(-len(picture.codes) // WIDEST)
    codes = _pooled(picture.codes.T, per, picture.smallest)
    width = per if picture.measured else per * picture.stride
    first = 0 if picture.measured else int(picture.first_steps[0])
    last = first + codes.shape[1] * width
    heat.imshow(
        colours(codes, picture.scale),
        aspect="auto",
        interpolation="nearest",
        extent=(first - 0.5, last - 0.5, len(picture.layers) - 0.5, -0.5),
    )
    heat.set_facecolor("#f3f3f3")
    _label_layers(heat, picture.layers)
    _label_steps(heat, picture, width)
    _mark_columns(heat, codes.max(0), first, width)
    if picture.note:
        heat.set_title(picture.note, fontsize=7, loc="right", color="#8a4500")


def _pooled(codes: Any, per: int, smallest: bool) -> Any:
    spare = -codes.shape[1] % per
    padded = np.pad(codes, ((0, 0), (0, spare))).reshape(len(codes), -1, per)
    top = padded.max(2)
    if not smallest:
        return top
    # a NaN is worth seeing before the smallest number, and nothing is not a number
    usable = np.where(padded > CODE_NO_GRADIENT, padded, CODE_INFINITE).min(2)
    return np.where((top >= CODE_INFINITE) | (usable == CODE_INFINITE), top, usable)


def _label_steps(heat: Any, picture: HeatPicture, width: int) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    heat.xaxis.set_major_locator(MaxNLocator(integer=True))
    if not picture.measured:
        heat.set_xlabel(f"step{'' if width == 1 else f' ({width} a column, largest)'}")
        return
    steps, many = picture.first_steps, picture.stride * width
    few = "" if many == 1 else f", {many} measurements a column"
    heat.set_xlabel(f"step (one column a measurement{few})")

    def word(at: float, _: Any) -> str:
        inside = at == int(at) and 0 <= at < len(steps)
        return str(steps[int(at)]) if inside else ""

    heat.xaxis.set_major_formatter(FuncFormatter(word))


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


def draw_scale(axes: Any, scale: Scale = GRADIENT) -> None:
    """Draw the fixed colour scale and what its special colours mean."""
    from matplotlib.patches import Patch

    low, high = scale.shown
    at = np.linspace(low, high, 400)
    bar = colours(quantise(at if scale.linear else 10.0**at, scale), scale)[None]
    axes.imshow(bar, aspect="auto", extent=(low, high, 0, 1))
    axes.set_xlim(low, high + 15 / 14 * (high - low))
    axes.set_yticks([])
    marks = [float(scale.place(value)) for value, _, _ in scale.ticks]
    axes.set_xticks(marks, [word for _, word, _ in scale.ticks], fontsize=7)
    for spine in axes.spines.values():
        spine.set_visible(False)
    patches = [
        Patch(color=SPECIAL["non-finite"], label="▼ NaN or Inf"),
        Patch(color=SPECIAL["zero"], label="exactly 0"),
        Patch(color=SPECIAL["no gradient"], label=scale.absent),
    ]
    if scale.linear:
        del patches[1]
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
