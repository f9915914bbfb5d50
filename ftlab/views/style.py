"""Colours, marks and words, the same in the browser and in pictures.

Every colour stands beside a mark or a word, never alone.
"""

import math

VANISHING, EXPLODING = 1e-6, 1e4
"""Marks of the gradient scale; they colour a cell, they are no finding."""
WEAK = 1e-5
"""Below it for `WEAK_STEPS` steps in a row, a layer carries a mark."""
WEAK_STEPS = 5
DECAY = 0.7
"""A layer whose norm is a smaller share of the next one's carries a mark."""

SPECIAL = {
    "not recorded": "#ffffff00",
    "no gradient": "#c4c4c4",
    "zero": "#5a5a5a",
    "non-finite": "#e5004c",
}
"""Colours of the cells that hold no positive number (the first is see-through)."""


SERIES = ("#2486c9", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6bb1")
"""Line colours after Okabe and Ito, for colour-blind readers and both themes."""
SEVERITY = {"error": "#c4003d", "warning": "#b45f00", "info": "#0072b2"}


def number(value: float | None) -> str:
    """Write a number with 3 significant digits, and its absence as a dash.

    Examples
    --------
    >>> from ftlab.views.style import number
    >>> number(0.00012345), number(8143.2), number(float("nan")), number(None)
    ('0.000123', '8,140', 'NaN', '-')
    """
    if value is None:
        return "-"
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Inf" if value > 0 else "-Inf"
    if 1e3 <= abs(value) < 1e6:
        return f"{float(f'{value:.3g}'):,.0f}"
    return f"{value:.3g}"


def shortened(name: str, width: int = 44) -> str:
    """Leave out the middle of a name that is longer than ``width``."""
    if len(name) <= width:
        return name
    return f"{name[: width // 2 - 3]}...{name[-(width - width // 2) :]}"


def count(quantity: int, noun: str) -> str:
    """Write ``1 step``, ``2 steps``, ``3,000 steps``."""
    return f"{quantity:,} {noun}" + ("" if quantity == 1 else "s")


def steps(first: int, last: int) -> str:
    """Write a range of steps in words; what is known before step 0 holds from it on."""
    first, last = max(first, 0), max(last, 0)
    return f"step {first}" if first == last else f"steps {first}-{last}"
