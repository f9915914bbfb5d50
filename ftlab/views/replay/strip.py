"""The whole step on one line: how large what each operation made was, in order."""

import html
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ftlab.records.trace import Trace
from ftlab.views.replay.grades import BAD, GRADES, Grades
from ftlab.views.replay.shade import BARS
from ftlab.views.style import number

MOST = 200
"""Bars of the strip; each stands for as many operations as that takes."""
DECADE_LOW, DECADE_HIGH = -8.0, 8.0
"""Powers of ten at the foot and at the top of a bar."""
LEAST = 4.0
"""Percent of the height that every bar has, so that it can be seen and clicked."""


@dataclass(frozen=True, slots=True)
class Bar:
    """Some neighbouring operations.

    Attributes
    ----------
    first, at
        The first of them, and the worst.
    phase
        Of the first.
    height
        Percent of the strip's.
    shade
        Its colour.
    tip
        What it says of itself.
    """

    first: int
    at: int
    phase: str
    height: float
    shade: str
    tip: str


def bars_of(trace: Trace, grades: Grades) -> list[Bar]:
    """Divide the step's operations among bars, by order."""
    edges = np.linspace(0, len(trace.ops), min(len(trace.ops), MOST) + 1).astype(int)
    pairs = zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
    return [_bar(trace, grades, np.arange(*pair)) for pair in pairs]


def strip_html(trace: Trace, bars: list[Bar], at: int) -> str:
    """Return the strip with what has not run yet at ``at`` faded."""
    shown = "".join(_bar_html(bar, at) for bar in bars)
    marks = f'<div class="ftlab-r-marks">{_mark(trace)}</div>'
    label = "magnitude of each operation's output, in order"
    return (
        f'<div class="ftlab-f ftlab-p ftlab-r-strip">{marks}'
        f'<div class="ftlab-r-bars" role="img" aria-label="{label}">{shown}</div>'
        f'<div class="ftlab-r-phases">{"".join(_phases(bars))}</div></div>'
    )


def _bar(trace: Trace, grades: Grades, indices: np.ndarray) -> Bar:
    at = grades.worst(indices)
    op, magnitude = trace.ops[at], float(grades.magnitude[at])
    first = trace.ops[int(indices[0])]
    grade = int(grades.of[at])
    words = number(magnitude) if grade != BAD else "NaN" if op.nans else "Inf"
    tip = f"{at} {op.op}, {op.place}: up to {words}, {GRADES[grade]}"
    if math.isnan(magnitude):
        tip = f"{at} {op.op}, {op.place}"
    return Bar(first.index, at, first.phase, _height(magnitude), BARS[grade], tip)


def _height(magnitude: float) -> float:
    if math.isnan(magnitude) or magnitude == 0:
        return LEAST
    if math.isinf(magnitude):
        return 100.0
    share = (math.log10(magnitude) - DECADE_LOW) / (DECADE_HIGH - DECADE_LOW)
    return max(LEAST, 90.0 * min(max(share, 0.0), 1.0))


def _bar_html(bar: Bar, at: int) -> str:
    later = ' class="ftlab-r-later"' if bar.first > at else ""
    return (
        f'<i{later} data-at="{bar.at}" data-first="{bar.first}" '
        f'title="{html.escape(bar.tip)}">'
        f'<b style="height:{bar.height:.0f}%;background:{bar.shade}"></b></i>'
    )


def _mark(trace: Trace) -> str:
    if trace.culprit < 0:
        return ""
    share = 100 * (trace.culprit + 0.5) / len(trace.ops)
    side = "right" if share > 50 else "left"
    place = share if side == "left" else 100 - share
    text = "▼ it begins here" if side == "left" else "it begins here ▼"
    return (
        f'<span data-at="{trace.culprit}" style="{side}:calc({place:.2f}% - 5px)">'
        f"{text}</span>"
    )


def _phases(bars: list[Bar]) -> Iterator[str]:
    """Name the phases below, each as wide as it is long."""
    runs: list[list[Bar]] = []
    for bar in bars:
        if runs and runs[-1][0].phase == bar.phase:
            runs[-1].append(bar)
        else:
            runs.append([bar])
    for run in runs:
        name = html.escape(run[0].phase) if len(run) >= MOST / 12 else ""
        yield f'<span style="flex-grow:{len(run)}">{name}</span>'
