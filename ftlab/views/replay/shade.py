"""The colours of a replay, which grow from normal to bad with the grade."""

import math

from ftlab.views.charts.range_colour import LARGE, level
from ftlab.views.replay.grades import BAD, GRADES
from ftlab.views.style import SERIES, SPECIAL

NEAR = GRADES.index("near overflow")
STRONG = "#d63a00"
"""Of what is near an overflow; white text is readable on it."""
BARS = (SERIES[0], "#f0a35e", STRONG, SPECIAL["non-finite"])
"""One colour for each grade."""


def shade(grade: int, magnitude: float, dtype: str) -> str:
    """Return the CSS of a cell; ``""`` where nothing is to be pointed out.

    Within a grade the colour grows with the magnitude.

    Examples
    --------
    >>> from ftlab.views.replay.shade import shade
    >>> shade(0, 2.0, "float16"), shade(1, 4096.0, "float16")
    ('', 'background:rgba(224,90,0,0.49)')
    >>> shade(3, float("inf"), "float16")
    'background:#e5004c;color:#fff'
    """
    if grade in (NEAR, BAD):
        return f"background:{BARS[grade]};color:#fff"
    if math.isnan(magnitude):
        return ""
    share = max(level(-magnitude, magnitude, dtype), 0.0)
    strength = 0.25 * share if grade == 0 else 0.25 + 0.35 * share
    rounded = f"{strength:.2f}"
    if rounded == "0.00":
        return ""
    return f"background:rgba({','.join(map(str, LARGE))},{rounded})"
