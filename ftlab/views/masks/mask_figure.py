"""Masks as a picture: one panel for each kind of layer, of the worst row."""

from typing import Any

from ftlab.records.attention import AttentionReport, Documents, MaskRow
from ftlab.views.drawn import Canvas
from ftlab.views.masks.mask_colours import BAD, MISSING, SEEN, borders, pixels
from ftlab.views.masks.mask_words import documents_words, percent, worst_first

PANELS = 4
"""Kinds of layers that the picture shows."""
BORDERS = 64
"""Documents whose borders are drawn; more would cover the mask."""


def draw_masks(figure: Canvas, report: AttentionReport, row: int | None = None) -> None:
    """Draw the masks of one row of the batch, the worst one by default."""
    from matplotlib.patches import Patch

    if not report.rows:
        axes = figure.subplots()
        axes.text(0.5, 0.5, "no attention to show", ha="center", color="#666666")
        axes.set_axis_off()
        return
    chosen = worst_first(report)[0] if row is None else row
    shown = [each for each in report.rows if each.row == chosen][:PANELS]
    panels = figure.subplots(1, len(shown), squeeze=False)[0]
    for axes, each in zip(panels, shown, strict=True):
        _draw(axes, each, report.documents[chosen])
    panels[0].set_ylabel("query (token)", fontsize=8)
    documents = documents_words(report.documents[chosen])
    figure.suptitle(
        f"Attention of {report.model}, row {chosen}: {documents}", fontsize=10, x=0.5
    )
    patches = [
        Patch(color=SEEN, label="attended to"),
        Patch(color=BAD, label="attended to, but should not be"),
        Patch(color=MISSING, label="not attended to, but should be"),
        Patch(color="#f3f3f3", label="masked"),
    ]
    figure.legend(
        handles=patches, loc="outside lower center", ncols=4, fontsize=7, frameon=False
    )


def _draw(axes: Any, row: MaskRow, documents: Documents) -> None:
    grid = row.grid
    (top, bottom), (left, right) = grid.queries, grid.keys
    axes.imshow(
        pixels(grid, sure=row.sure),
        extent=(
            left - 0.5,
            left + grid.seen.shape[1] * grid.cell[1] - 0.5,
            top + grid.seen.shape[0] * grid.cell[0] - 0.5,
            top - 0.5,
        ),
        interpolation="nearest",
        aspect="equal" if bottom - top == right - left else "auto",
    )
    axes.set_xlim(left - 0.5, right - 0.5)
    axes.set_ylim(bottom - 0.5, top - 0.5)
    axes.tick_params(labelsize=7)
    axes.set_xlabel("key (token)", fontsize=8)
    illegal = f"{percent(row.illegal)} illegal"
    axes.set_title(f"{row.kind}: {illegal}", fontsize=9, loc="left")
    _draw_borders(axes, row, documents)


def _draw_borders(axes: Any, row: MaskRow, documents: Documents) -> None:
    marks = borders(documents)
    style = {"color": "black", "linewidth": 0.6}
    dashes = "-" if documents.sure else (0, (2, 2))
    ahead = row.grid.keys[1] - row.grid.queries[1]
    for start in marks["starts"][1:][:BORDERS]:
        axes.axvline(start - 0.5, linestyle=dashes, **style)
        axes.axhline(start - ahead - 0.5, linestyle=dashes, **style)
    edges = marks["padding"]
    for first, last in zip(edges[::2], edges[1::2], strict=True):
        area = {"facecolor": "none", "edgecolor": "#777777", "hatch": "////"}
        axes.axvspan(first - 0.5, last - 0.5, linewidth=0, alpha=0.6, **area)
        axes.axhspan(
            first - ahead - 0.5, last - ahead - 0.5, linewidth=0, alpha=0.6, **area
        )
