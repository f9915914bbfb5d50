"""One bar for each row: what is trained, context and padding, turns and documents."""

import textwrap

import numpy as np

from ftlab.views.drawn import Axes, Canvas
from ftlab.views.style import count
from ftlab.views.tokens.token_words import visible_name
from ftlab.views.tokens.tokens_summary import KINDS, Sample, TokenSummary

SHOWN = 16
MEANING = {
    "trained": ("#009e73", "trained: counted in the loss"),
    "context": ("#b9d7ea", "read, not trained (label -100)"),
    "padding": ("#bdbdbd", "padding (attention 0)"),
    "odd": ("#d55e00", "attention 0, but trained"),
}
"""What a token is to the training, its colour and its meaning."""
MOST_MARKS = 60
"""More BOS or EOS in a picture cover the bars."""
FAULTS, LINE = 3, 110
"""Lines above a picture that say what is wrong, and their characters."""
LEAST_WIDTH = 0.07
"""Share of the picture that a turn needs for its role to be written on it."""


def draw_tokens(figure: Canvas, summary: TokenSummary) -> None:
    """Draw the first rows of a batch."""
    from matplotlib.colors import to_rgb
    from matplotlib.patches import Patch

    axes = figure.add_subplot()
    samples = summary.samples[:SHOWN]
    length = max((len(sample.row.ids) for sample in samples), default=0)
    hidden = len(summary.samples) - len(samples)
    more = f", {count(hidden, 'more sample')} in .table()" if hidden else ""
    said = [f"Tokens of the batch{more}"]
    said += [_line(each) for each in summary.faults[:FAULTS]]
    axes.set_title("\n".join(said), fontsize=10, loc="left")
    if not length:
        axes.text(0.5, 0.5, "the batch is empty", ha="center")
        axes.set_axis_off()
        return
    palette = np.array([*(to_rgb(MEANING[kind][0]) for kind in KINDS), (1.0, 1.0, 1.0)])
    codes = np.full((len(samples), length), len(KINDS))
    for at, sample in enumerate(samples):
        codes[at, : len(sample.kinds)] = sample.kinds
    axes.imshow(
        palette[codes],
        aspect="auto",
        interpolation="nearest",
        extent=(0, length, len(samples) - 0.5, -0.5),
    )
    for at, sample in enumerate(samples):
        _borders(axes, sample, at, length)
    _marks(axes, samples)
    used = set(codes.ravel().tolist())
    patches = [
        Patch(color=MEANING[kind][0], label=MEANING[kind][1])
        for at, kind in enumerate(KINDS)
        if at in used or kind == "trained"
    ]
    handles = [*patches, *axes.get_legend_handles_labels()[0]]
    names = [visible_name(each)[:28].replace("$", r"\$") for each in samples]
    axes.set_yticks(range(len(samples)), names)
    axes.tick_params(labelsize=7)
    axes.set_xlabel("position", fontsize=8)
    axes.set_xlim(0, length)
    figure.legend(
        handles=handles, loc="outside lower left", ncols=3, fontsize=7, frameon=False
    )


def _line(words: str) -> str:
    """Return what is wrong in one line of a picture, which reads $ as mathematics."""
    return textwrap.shorten(words, LINE, placeholder=" ...").replace("$", r"\$")


def _borders(axes: Axes, sample: Sample, at: int, length: int) -> None:
    """Draw where messages and documents begin, and write roles where they fit."""
    last: tuple[str, int] | None = None
    spans: list[list[float | str]] = []
    for turn in sample.row.turns:
        if (turn.role, turn.message) != last:
            spans.append([turn.start, turn.end, turn.role])
        spans[-1][1] = turn.end
        last = (turn.role, turn.message)
    starts = [float(start) for start, _, _ in spans]
    axes.vlines(starts, at - 0.42, at + 0.42, color="white", lw=1.0)
    for start, end, role in spans:
        if (float(end) - float(start)) / length >= LEAST_WIDTH:
            middle = (float(start) + float(end)) / 2
            said = str(role)[:12].replace("$", r"\$")
            axes.text(middle, at, said, ha="center", va="center", fontsize=6.5)
    if sample.row.segments is not None:
        begins = np.flatnonzero(np.diff(sample.row.segments)) + 1
        axes.vlines(begins, at - 0.48, at + 0.48, color="black", lw=1.2)


def _marks(axes: Axes, samples: tuple[Sample, ...]) -> None:
    for name, mark in (("bos", "|"), ("eos", "x")):
        spots = [
            (spot + 0.5, row)
            for row, one in enumerate(samples)
            for spot in one.special.get(name, ())
        ]
        if 0 < len(spots) <= MOST_MARKS * len(samples):
            across, down = zip(*spots, strict=True)
            axes.plot(
                across,
                down,
                mark,
                color="black",
                ms=6,
                label=name.upper(),
                ls="none",
                clip_on=False,
            )
