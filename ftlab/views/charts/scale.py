"""Scales of heatmaps: a number's colour, the same in every run and in both front ends.

A colour never depends on the run it is in: each scale is fixed, so that two screenshots
can be compared. Values are sent to the browser as 16-bit *codes* (`quantise`), ordered
so that the largest of several codes is the one worth seeing: not recorded < no gradient
< zero < finite < infinite < NaN. The front end (``heat.js``) implements the same
functions.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ftlab.views.style import EXPLODING, SPECIAL, VANISHING

NOT_RECORDED, NO_GRADIENT = -2.0, -1.0
"""Levels below zero: what stands in a matrix of norms where there is no norm."""

CODE_NOT_RECORDED, CODE_NO_GRADIENT, CODE_ZERO = 0, 1, 2
SLAB = 2**16
"""Values turned into codes at a time: each is held in float64 several times."""
CODE_LOW, CODE_HIGH, CODE_INFINITE, CODE_NAN = 3, 65533, 65534, 65535

_HEALTHY = (
    "#440154 #482878 #3e4989 #31688e #26828e #1f9e89 #35b779 #6ece58 #b5de2b #fde725"
)
_SMALL = "#0d0316 #2a0a36"
_LARGE = "#ffa21c #e05a00"


@dataclass(frozen=True, slots=True)
class Scale:
    """What the finite codes stand for, and how they are coloured.

    Attributes
    ----------
    low, high
        Powers of ten (or values, of a linear scale) of the first and the last finite
        code; what is beyond is clipped. Over 20 powers a code's step is 0.07 % of the
        value, so a dequantised value is right to 0.04 %.
    small, large
        Where the colours turn: cold and nearly black below, viridis in between, orange
        above. They colour a cell, they are no finding; ``None`` for none.
    ticks
        What stands below the legend: value, word, and whether it is such a mark.
    shown
        The part of the scale that the legend shows.
    absent
        What it means when there is no number, in the words of the legend.
    alarm
        Whether a column with a cell above ``large`` gets a mark.
    percent
        Whether numbers are written as percent.
    """

    low: float
    high: float
    small: float | None
    large: float | None
    ticks: tuple[tuple[float, str, bool], ...]
    shown: tuple[float, float]
    absent: str = "no gradient"
    alarm: bool = False
    linear: bool = False
    percent: bool = False

    def place(self, values: ArrayLike) -> NDArray[np.float64]:
        """Return powers of ten, or the values themselves where the scale is linear."""
        levels = np.asarray(values, np.float64)
        return levels if self.linear else np.log10(levels)

    def share(self, value: float) -> float:
        """Return where ``value`` stands between ``low`` and ``high``."""
        return (float(self.place(value)) - self.low) / (self.high - self.low)


GRADIENT = Scale(
    -12.0,
    8.0,
    VANISHING,
    EXPLODING,
    (
        (VANISHING, "1e-6 vanishing", True),
        (1e-3, "1e-3", False),
        (1.0, "1", False),
        (EXPLODING, "1e4 exploding", True),
    ),
    (-8.0, 6.0),
    alarm=True,
)
"""Norms of gradients."""

SHARE = Scale(
    0.0,
    1.0,
    None,
    None,
    ((0.0, "0 %", False), (0.5, "50 %", False), (1.0, "100 %", False)),
    (0.0, 1.0),
    linear=True,
    percent=True,
)
"""Shares of a whole."""


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _ramp(colours: str, count: int) -> NDArray[np.uint8]:
    anchors = np.array([_rgb(colour) for colour in colours.split()], np.float64)
    at = np.linspace(0, len(anchors) - 1, count)
    channels = [np.interp(at, np.arange(len(anchors)), anchors[:, i]) for i in range(3)]
    return np.rint(np.stack(channels, 1)).astype(np.uint8)


def palette(scale: Scale = GRADIENT) -> NDArray[np.uint8]:
    """Return the 256 colours of finite values, uint8 of shape ``(256, 3)``.

    The colour of a finite code is entry ``code >> 8``.
    """
    low, high = (
        otherwise if mark is None else _palette_index(scale, mark)
        for mark, otherwise in ((scale.small, 0), (scale.large, 256))
    )
    parts = (
        _ramp(_SMALL, low),
        _ramp(_HEALTHY, high - low),
        _ramp(_LARGE, 256 - high),
    )
    return np.concatenate(parts)


def _palette_index(scale: Scale, value: float) -> int:
    return int(CODE_LOW + scale.share(value) * (CODE_HIGH - CODE_LOW)) >> 8


def quantise(values: ArrayLike, scale: Scale = GRADIENT) -> NDArray[np.uint16]:
    """Turn values (and the levels below zero) into codes.

    Parameters
    ----------
    values
        Of any shape; `NOT_RECORDED` and `NO_GRADIENT` where there is none.

    Examples
    --------
    >>> from ftlab.views.charts.scale import quantise
    >>> quantise([-2.0, -1.0, 0.0, 1e-12, 1e8, float("inf"), float("nan")]).tolist()
    [0, 1, 2, 3, 65533, 65534, 65535]
    """
    levels = np.asarray(values)
    if levels.size > SLAB and len(levels) > 1:
        slabs = np.array_split(levels, min(len(levels), 1 + levels.size // SLAB))
        return np.concatenate([quantise(slab, scale) for slab in slabs])
    levels = levels.astype(np.float64)
    with np.errstate(all="ignore"):
        share = (scale.place(levels) - scale.low) / (scale.high - scale.low)
        scaled = CODE_LOW + share * (CODE_HIGH - CODE_LOW)
        codes = np.clip(np.rint(scaled), CODE_LOW, CODE_HIGH)
    if not scale.linear:
        codes = np.where(levels == 0, CODE_ZERO, codes)
    codes = np.where(levels == NO_GRADIENT, CODE_NO_GRADIENT, codes)
    codes = np.where(levels <= NOT_RECORDED, CODE_NOT_RECORDED, codes)
    codes = np.where(np.isposinf(levels), CODE_INFINITE, codes)
    return np.where(np.isnan(levels), CODE_NAN, codes).astype(np.uint16)


def dequantise(codes: ArrayLike, scale: Scale = GRADIENT) -> NDArray[np.float64]:
    """Turn codes back into levels."""
    code = np.asarray(codes).astype(np.int64)
    share = (code - CODE_LOW) / (CODE_HIGH - CODE_LOW)
    at = scale.low + share * (scale.high - scale.low)
    levels = at if scale.linear else 10.0**at
    levels = np.where(code == CODE_ZERO, 0.0, levels)
    levels = np.where(code == CODE_NO_GRADIENT, NO_GRADIENT, levels)
    levels = np.where(code == CODE_NOT_RECORDED, NOT_RECORDED, levels)
    levels = np.where(code == CODE_INFINITE, np.inf, levels)
    return np.where(code == CODE_NAN, np.nan, levels)


def colours(codes: ArrayLike, scale: Scale = GRADIENT) -> NDArray[np.uint8]:
    """Return the RGBA colour of each code: the pixels that a browser must show.

    Examples
    --------
    >>> from ftlab.views.charts.scale import colours, quantise
    >>> colours(quantise(float("nan"))).tolist()
    [229, 0, 76, 255]
    """
    code = np.asarray(codes).astype(np.int64)
    opaque = np.full((256, 1), 255, np.uint8)
    rgba = np.concatenate([palette(scale), opaque], 1)[code >> 8]
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


def front_end_scale(scale: Scale = GRADIENT) -> dict[str, Any]:
    """Everything that the JavaScript half needs to colour a code as Python does."""
    return asdict(scale) | {
        "palette": [int(channel) for channel in palette(scale).ravel()],
        "first": CODE_LOW,
        "last": CODE_HIGH,
        "special": SPECIAL,
        "ticks": [
            [float(scale.place(value)), word, mark] for value, word, mark in scale.ticks
        ],
    }
