"""Whether bare numbers are shares of a count, such as an accuracy over n samples.

A share is k/n with a whole k. That many numbers are multiples of one 1/n by chance is
the less probable, the finer the numbers are and the smaller n is.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MOST = 10_000
"""Samples of the largest evaluation that is looked for."""

CLOSE = 4e-7
"""Relative distance up to which a number is k/n: a few roundings of float32."""

FEWEST = 3
"""Different shares, 0 and 1 left out, from which on they can tell anything."""

CHANCE = 1e-4
"""Probability up to which numbers are multiples of some 1/n by no chance."""

DECIMALS = 4
"""Decimals that somebody may have rounded to."""

BITS = (8, 11, 24)
"""Significant bits of bfloat16, float16 and float32."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Shares:
    """What numbers are shares of.

    Attributes
    ----------
    count
        The smallest n.
    rounded
        They may just as well have been rounded to a few decimals.
    """

    count: int
    rounded: bool


def shares_of(values: Sequence[float], bits: int = BITS[-1]) -> Shares | None:
    """Find the n of which all values are shares; ``None`` where there is none.

    Parameters
    ----------
    values
        Numbers from 0 to 1.
    bits
        Significant bits of numbers that are no shares in this run: of its losses.

    Examples
    --------
    >>> from ftlab.rules.reading.shares import shares_of
    >>> shares_of([54 / 128, 80 / 128, 93 / 128])
    Shares(count=128, rounded=False)
    >>> shares_of([0.421, 0.625, 0.726]), shares_of([0.1, 0.25, 0.141592653])
    (Shares(count=1000, rounded=True), None)
    """
    distinct = np.unique([each for each in values if 0 < each < 1])
    if len(distinct) < FEWEST or not all(0 <= each <= 1 for each in values):
        return None
    counts = np.arange(2, MOST + 1)
    fits = np.flatnonzero(_whole(np.outer(counts, distinct)))
    if not len(fits):
        return None
    count = int(counts[fits[0]])
    grain = np.maximum(
        2 * CLOSE * distinct, np.ldexp(1.0, np.frexp(distinct)[1] - bits)
    )
    if _chance(count, grain) >= CHANCE:
        return None
    scales = 10 ** np.arange(1, DECIMALS + 1)
    decimal = scales[_whole(np.outer(scales, distinct))]
    rounded = len(decimal) and _chance(count, 1 / decimal[0] + 0 * grain) >= CHANCE
    return Shares(count, bool(rounded))


def bits_of(losses: Sequence[float]) -> int:
    """Return how many significant bits losses have: 8 where all are bfloat16's."""
    mantissas = np.frexp(np.asarray(losses, np.float64))[0]
    kept = (b for b in BITS if (np.ldexp(mantissas, b) % 1 == 0).all())
    return next(kept, BITS[-1])


def clearly_risen(first: float, last: float, count: int) -> bool:
    """Tell whether a share of ``count`` rose from below to above 1/2, by no chance."""
    noise = math.sqrt((first * (1 - first) + last * (1 - last)) / count)
    return first < 1 / 2 < last and last - first > max(RISE, SIGMAS * noise)


RISE, SIGMAS = 0.2, 5.0
"""How far a share has clearly risen, and how many deviations of its counting."""


def _whole(products: Floats) -> NDArray[np.bool_]:
    """Mark lines in which all products are whole numbers, up to rounding."""
    near = np.abs(products - np.rint(products)) <= CLOSE * products
    return np.asarray(near.all(axis=1), bool)


def _chance(count: int, grain: Floats) -> float:
    """Return how probable it is that numbers of this grain fit any n up to one."""
    return float(count * np.minimum(1.0, count * grain).prod())
