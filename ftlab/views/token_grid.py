"""Tokens as a grid: HTML for the notebook, coloured bars for pictures."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

import numpy as np

from ftlab.views.findings_html import style_sheet
from ftlab.views.style import count

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

    from ftlab.views.tokens_summary import Cell, Sample, TokenSummary

MOST_SAMPLES, MOST_TOKENS = 8, 512
"""The grid shows so much; the table has everything."""
KINDS = {
    "trained": ("#009e73", "trained: the loss counts it"),
    "context": ("#b9d7ea", "read, not trained (label -100)"),
    "padding": ("#bdbdbd", "padding (attention 0)"),
    "odd": ("#d55e00", "attention 0, but trained"),
}
"""What a token is to the training, its colour and its meaning."""
SHIFT = (
    "Labels stand at their own token. The model shifts them by one: each position is "
    "trained to say the token after it."
)


def kind_of(cell: Cell) -> str:
    """Return the name from `KINDS` of what ``cell`` is to the training."""
    if cell.attention == 0:
        return "odd" if cell.trained else "padding"
    return "trained" if cell.trained else "context"


def tokens_html(summary: TokenSummary) -> str:
    """Return the grid as HTML; every word of the batch is escaped."""
    from ftlab.views.tokens import describe

    parts = [f"<style>{style_sheet()}</style>", '<div class="ftlab-t">', _key()]
    for number, sample in list(enumerate(summary.samples))[:MOST_SAMPLES]:
        words = html.escape(describe(sample))
        parts.append(
            f"<p><b>sample {number}</b> {words}</p><div>{_cells(sample)}</div>"
        )
    hidden = len(summary.samples) - MOST_SAMPLES
    if hidden > 0:
        parts.append(f"<p>and {count(hidden, 'more sample')}: .table() has them</p>")
    return "".join([*parts, "</div>"])


def _key() -> str:
    swatches = "".join(
        f'<span class="ftlab-tok ftlab-{name}">{name}</span> '
        f"{html.escape(meaning.partition(': ')[2] or meaning)} &nbsp; "
        for name, (_, meaning) in KINDS.items()
        if name != "odd"
    )
    return f"<p>{swatches}<br>{html.escape(SHIFT)}</p>"


def _cells(sample: Sample) -> str:
    shown = [_cell(cell, at) for at, cell in enumerate(sample.cells[:MOST_TOKENS])]
    hidden = len(sample.cells) - MOST_TOKENS
    if hidden > 0:
        shown.append(f"<p>and {count(hidden, 'more token')}: .table() has them</p>")
    return "".join(shown)


def _cell(cell: Cell, at: int) -> str:
    tip = [f"position {at}", f"id {cell.id}", f"piece {cell.token}"]
    if cell.attention is not None:
        tip.append(f"attention {cell.attention}")
    if cell.label is not None:
        tip.append(f"label {cell.label}")
    if cell.learns:
        tip.append(f"learns to say next: {cell.learns}")
    tags = "".join(f"<sup>{name.upper()}</sup>" for name in cell.special)
    text = html.escape(cell.text) or "∅"
    title = html.escape("\n".join(tip), quote=True)
    kind = kind_of(cell)
    return f'<span class="ftlab-tok ftlab-{kind}" title="{title}">{text}{tags}</span>'


def draw_tokens(figure: Figure | SubFigure, summary: TokenSummary) -> None:
    """Draw one bar per sample: what is trained, context and padding, and BOS / EOS."""
    from matplotlib.colors import to_rgb
    from matplotlib.patches import Patch

    axes = figure.add_subplot()
    samples = summary.samples[:16]
    length = max((len(sample.cells) for sample in samples), default=0)
    axes.set_title("Tokens of the batch", fontsize=10, loc="left")
    if not length:
        axes.text(0.5, 0.5, "the batch is empty", ha="center")
        axes.set_axis_off()
        return
    image = np.ones((len(samples), length, 3))
    for row, sample in enumerate(samples):
        for at, cell in enumerate(sample.cells):
            image[row, at] = to_rgb(KINDS[kind_of(cell)][0])
    axes.imshow(image, aspect="auto", interpolation="nearest")
    for name, mark in (("bos", "|"), ("eos", "x")):
        spots = [
            (at, row)
            for row, one in enumerate(samples)
            for at in one.positions(name) or ()
        ]
        if spots:
            across, down = zip(*spots, strict=True)
            axes.plot(across, down, mark, color="black", ms=6, label=name.upper())
    patches = [Patch(color=colour, label=words) for colour, words in KINDS.values()]
    handles = [*patches, *axes.get_legend_handles_labels()[0]]
    axes.set_yticks(range(len(samples)), [f"sample {at}" for at in range(len(samples))])
    axes.tick_params(labelsize=7)
    axes.set_xlabel("position", fontsize=8)
    figure.legend(
        handles=handles, loc="outside lower left", ncols=3, fontsize=7, frameon=False
    )
