"""Colours and scales, the same in the browser and in pictures.

A gradient's colour never depends on the run it is in: the scale is logarithmic and
fixed, so that two screenshots can be compared. Values are sent to the browser as 16-bit
*codes* (`quantise`), ordered so that the largest of several codes is the one worth
seeing: not recorded < no gradient < zero < finite < infinite < NaN. The front end
(``heat.js``) implements the same functions.

Every colour stands beside a mark or a word, never alone.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

VANISHING, EXPLODING = 1e-6, 1e4
"""Marks of the gradient scale; they colour a cell, they are no finding."""
WEAK = 1e-5
"""Below it for `WEAK_STEPS` steps in a row, a layer carries a mark."""
WEAK_STEPS = 5
DECAY = 0.7
"""A layer whose norm is a smaller share of the next one's carries a mark."""

NOT_RECORDED, NO_GRADIENT = -2.0, -1.0
"""Levels below zero: what stands in a matrix of norms where there is no norm."""

CODE_NOT_RECORDED, CODE_NO_GRADIENT, CODE_ZERO = 0, 1, 2
CODE_LOW, CODE_HIGH, CODE_INFINITE, CODE_NAN = 3, 65533, 65534, 65535
DECADE_LOW, DECADE_HIGH = -12.0, 8.0
"""Powers of ten that `CODE_LOW` and `CODE_HIGH` stand for; values beyond are clipped.

A code's step is 0.07 % of the value, so a dequantised value is right to 0.04 %.
"""

_HEALTHY = (
    "#440154 #482878 #3e4989 #31688e #26828e #1f9e89 #35b779 #6ece58 #b5de2b #fde725"
)
_SMALL = "#0d0316 #2a0a36"
_LARGE = "#ffa21c #e05a00"
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


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _ramp(colours: str, count: int) -> NDArray[np.uint8]:
    anchors = np.array([_rgb(colour) for colour in colours.split()], np.float64)
    at = np.linspace(0, len(anchors) - 1, count)
    channels = [np.interp(at, np.arange(len(anchors)), anchors[:, i]) for i in range(3)]
    return np.rint(np.stack(channels, 1)).astype(np.uint8)


def _palette_index(value: float) -> int:
    share = (math.log10(value) - DECADE_LOW) / (DECADE_HIGH - DECADE_LOW)
    return int(CODE_LOW + share * (CODE_HIGH - CODE_LOW)) >> 8


def palette() -> NDArray[np.uint8]:
    """Return the 256 colours of finite values, uint8 of shape ``(256, 3)``.

    The colour of a finite code is entry ``code >> 8``: cold and nearly black below
    `VANISHING`, viridis up to `EXPLODING`, orange above.
    """
    low, high = _palette_index(VANISHING), _palette_index(EXPLODING)
    parts = (
        _ramp(_SMALL, low),
        _ramp(_HEALTHY, high - low),
        _ramp(_LARGE, 256 - high),
    )
    return np.concatenate(parts)


def quantise(values: ArrayLike) -> NDArray[np.uint16]:
    """Turn norms (and the levels below zero) into codes.

    Parameters
    ----------
    values
        Norms of any shape; `NOT_RECORDED` and `NO_GRADIENT` where there is none.

    Examples
    --------
    >>> from ftlab.views.style import quantise
    >>> quantise([-2.0, -1.0, 0.0, 1e-12, 1e8, float("inf"), float("nan")]).tolist()
    [0, 1, 2, 3, 65533, 65534, 65535]
    """
    levels = np.asarray(values, np.float64)
    with np.errstate(all="ignore"):
        share = (np.log10(levels) - DECADE_LOW) / (DECADE_HIGH - DECADE_LOW)
        scaled = CODE_LOW + share * (CODE_HIGH - CODE_LOW)
        codes = np.clip(np.rint(scaled), CODE_LOW, CODE_HIGH)
    codes = np.where(levels == 0, CODE_ZERO, codes)
    codes = np.where(levels == NO_GRADIENT, CODE_NO_GRADIENT, codes)
    codes = np.where(levels <= NOT_RECORDED, CODE_NOT_RECORDED, codes)
    codes = np.where(np.isposinf(levels), CODE_INFINITE, codes)
    return np.where(np.isnan(levels), CODE_NAN, codes).astype(np.uint16)


def dequantise(codes: ArrayLike) -> NDArray[np.float64]:
    """Turn codes back into levels; finite values are right to 0.04 %."""
    code = np.asarray(codes).astype(np.int64)
    share = (code - CODE_LOW) / (CODE_HIGH - CODE_LOW)
    levels = 10.0 ** (DECADE_LOW + share * (DECADE_HIGH - DECADE_LOW))
    levels = np.where(code == CODE_ZERO, 0.0, levels)
    levels = np.where(code == CODE_NO_GRADIENT, NO_GRADIENT, levels)
    levels = np.where(code == CODE_NOT_RECORDED, NOT_RECORDED, levels)
    levels = np.where(code == CODE_INFINITE, np.inf, levels)
    return np.where(code == CODE_NAN, np.nan, levels)


def colours(codes: ArrayLike) -> NDArray[np.uint8]:
    """Return the RGBA colour of each code: the pixels that a browser must show.

    Examples
    --------
    >>> from ftlab.views.style import colours, quantise
    >>> colours(quantise(float("nan"))).tolist()
    [229, 0, 76, 255]
    """
    code = np.asarray(codes).astype(np.int64)
    opaque = np.full((256, 1), 255, np.uint8)
    rgba = np.concatenate([palette(), opaque], 1)[code >> 8]
    special = {
        CODE_NOT_RECORDED: (255, 255, 255, 0),
        CODE_NO_GRADIENT: (*_rgb(SPECIAL["no gradient"]), 255),
        CODE_ZERO: (*_rgb(SPECIAL["zero"]), 255),
        CODE_INFINITE: (*_rgb(SPECIAL["non-finite"]), 255),
        CODE_NAN: (*_rgb(SPECIAL["non-finite"]), 255),
    }
    for value, colour in special.items():
        rgba[code == value] = colour
    return rgba


def front_end_scale() -> dict[str, Any]:
    """Everything that the JavaScript half needs to colour a code as Python does."""
    return {
        "palette": [int(channel) for channel in palette().ravel()],
        "low": CODE_LOW,
        "high": CODE_HIGH,
        "decadeLow": DECADE_LOW,
        "decadeHigh": DECADE_HIGH,
        "special": SPECIAL,
        "vanishing": VANISHING,
        "exploding": EXPLODING,
    }


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


def count(quantity: int, noun: str) -> str:
    """Write ``1 step``, ``2 steps``, ``3,000 steps``."""
    return f"{quantity:,} {noun}" + ("" if quantity == 1 else "s")


def steps(first: int, last: int) -> str:
    """Write a range of steps in words."""
    return f"step {first}" if first == last else f"steps {first}-{last}"


def size(quantity: float) -> str:
    """Write bytes with a unit.

    Examples
    --------
    >>> from ftlab.views.style import size
    >>> size(1.5 * 2**30), size(2048)
    ('1.5 GiB', '2 KiB')
    """
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(quantity) < 1024:
            return f"{quantity:.3g} {unit}"
        quantity /= 1024
    return f"{quantity:.3g} TiB"
