"""The colour of a tensor's range: from none, where it is ordinary, to that of a NaN."""

import math
from typing import Protocol

from ftlab.views.style import EXPLODING, SPECIAL, VANISHING, number

ORDINARY = 10.0
"""Magnitudes from `VANISHING` up to here carry no colour."""
WORST = EXPLODING**2
"""Here the colour is full, or where the dtype ends."""
LIMITS = {"float16": 65504.0, "float8_e4m3fn": 448.0, "float8_e5m2": 57344.0}
LARGE, SMALL = (224, 90, 0), (110, 70, 170)
STRONGEST = 0.7
"""Opacity of the full colour: text is readable on it in both themes."""


class Ranged(Protocol):
    """What has a range; `low` and `high` are ``None`` where no value is finite."""

    @property
    def dtype(self) -> str:
        """Name of the dtype."""

    @property
    def low(self) -> float | None:
        """The smallest value."""

    @property
    def high(self) -> float | None:
        """The largest value."""

    @property
    def nans(self) -> int:
        """Count of NaN."""

    @property
    def infs(self) -> int:
        """Count of infinities."""


def level(low: float, high: float, dtype: str) -> float:
    """Return how far a finite range is from ordinary, on a logarithmic scale.

    0 is ordinary; 1 is at the end of the dtype or `WORST`, and -1 as far below
    `VANISHING` as `WORST` is above `ORDINARY`.

    Examples
    --------
    >>> from ftlab.views.charts.range_colour import level
    >>> level(-1.0, 5.0, "float32"), level(0, 65504.0, "float16")
    (0.0, 1.0)
    >>> round(level(0.0, 65504.0, "float32"), 2)
    0.55
    """
    largest = max(abs(low), abs(high))
    if largest > ORDINARY:
        room = math.log10(min(LIMITS.get(dtype, WORST), WORST) / ORDINARY)
        return min(math.log10(largest / ORDINARY) / room, 1.0)
    if 0 < largest < VANISHING:
        room = math.log10(WORST / ORDINARY)
        return max(-math.log10(VANISHING / largest) / room, -1.0)
    return 0.0


def is_bad(facts: Ranged) -> bool:
    """Whether a tensor holds non-finite values, as far as it was looked at."""
    ends = (facts.low, facts.high)
    if facts.nans or facts.infs:
        return True
    return any(end is not None and not math.isfinite(end) for end in ends)


def colour(facts: Ranged) -> str:
    """Return the CSS of a cell that shows a range; ``""`` where it is ordinary."""
    if is_bad(facts):
        return f"background:{SPECIAL['non-finite']};color:#fff"
    if facts.low is None or facts.high is None:
        return ""
    if facts.low == facts.high == 0:
        return f"background:{SPECIAL['zero']};color:#fff"
    found = level(facts.low, facts.high, facts.dtype)
    if not found:
        return ""
    shade = ",".join(map(str, LARGE if found > 0 else SMALL))
    return f"background:rgba({shade},{STRONGEST * abs(found):.2f})"


def range_words(facts: Ranged) -> str:
    """Write the range of a tensor, the non-finite values first."""
    counts = ((facts.nans, "NaN"), (facts.infs, "Inf"))
    # Below 0 there are some that were not counted.
    parts = [w if many < 0 else f"{many:,} {w}" for many, w in counts if many]
    if facts.low is not None and facts.high is not None:
        low, high = number(facts.low), number(facts.high)
        zero = "0 everywhere" if facts.low == facts.high == 0 else low
        parts.append(zero if low == high else f"{low} to {high}")
    return ", ".join(parts) or "no finite value"
