"""Values by block and by place within a block, as a heatmap."""

import re
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ftlab.views.drawn import Axes
from ftlab.views.style import number

FAR = 10.0
"""Times the median from which on all values have the last colour."""
NAMED = 24
"""Rows of a picture that are named."""


def blocks_of(places: Sequence[str]) -> int:
    """Count the rows that a picture of these places has."""
    return len({_block(place)[0] for place in places})


def share_words(value: float) -> str:
    """Write a share in per cent, or as a multiple where it is large."""
    return f"{value:.3g}x" if value >= 10 else f"{number(100 * value)}%"


def draw_heat(
    axis: Axes,
    places: Sequence[str],
    values: Sequence[float],
    title: str,
    *,
    words: Callable[[float], str],
    most: float = 0.0,
) -> None:
    """Draw values by block and place; where there are few, they are written too.

    ``most`` is the value of the last colour, the largest value if that is more.
    """
    blocks = list(dict.fromkeys(_block(place)[0] for place in places))
    within = list(dict.fromkeys(_block(place)[1] for place in places))
    grid = np.full((len(blocks), len(within)), np.nan)
    for place, value in zip(places, values, strict=True):
        row, column = _block(place)
        at = blocks.index(row), within.index(column)
        grid[at] = np.nanmax([grid[at], value])
    draw_grid(axis, grid, blocks, within, title, words=words, most=most)


def draw_grid(
    axis: Axes,
    grid: NDArray[np.float64],
    rows: Sequence[str],
    columns: Sequence[str],
    title: str,
    *,
    words: Callable[[float], str],
    most: float = 0.0,
) -> None:
    """Draw a matrix with names for its rows and columns."""
    finite = grid[np.isfinite(grid)]
    largest = float(finite.max()) if finite.size else 0.0
    # beside one that is far larger, all others would have the same colour
    middle = float(np.median(finite)) if finite.size else 0.0
    top = max(most, min(largest, FAR * middle) if middle > 0 else largest, 1e-12)
    image = axis.imshow(grid, aspect="auto", cmap="viridis", vmin=0, vmax=top)
    few = grid.size <= 12 * NAMED and len(rows) <= NAMED
    if not few and finite.size:
        bar = axis.figure.colorbar(
            image,
            ax=axis,
            format=lambda v, _: words(v),
            extend="max" if largest > top else "neither",
        )
        bar.ax.tick_params(labelsize=7)
    for (row, column), value in np.ndenumerate(grid):
        if few and np.isfinite(value):
            dark = value < 0.6 * top
            axis.text(
                column,
                row,
                words(value),
                ha="center",
                va="center",
                fontsize=7,
                color="white" if dark else "black",
            )
    every = max(1, -(-len(rows) // NAMED))
    axis.set_yticks(range(0, len(rows), every), rows[::every], fontsize=7)
    axis.set_xticks(range(len(columns)), columns, fontsize=7, rotation=30, ha="right")
    axis.set_title(title, fontsize=8.5, loc="left")


def _block(place: str) -> tuple[str, str]:
    """Split a place into its block and what is in it."""
    found = re.match(r"(.*?layers\.\d+)\.?(.*)$", place)
    return (found[1], found[2] or "block") if found else ("", place)
