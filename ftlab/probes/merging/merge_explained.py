"""By which multiple of which adapter a weight has changed, out of inner products."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

OFF = 0.4
"""Share of a change's norm that may be left unexplained.

A base that was trained beside its adapter leaves 0.72 and more, at a rank of half its
width. Rounding leaves 0.36 where a 200th of the weight is added in bf16, or a 2000th in
fp16; the factor is off by 5 % then.
"""

WHOLE = 0.02
"""Share up to which one adapter explains all, and no other one is asked."""

ALIKE = 0.9
"""Cosine from which on two adapters cannot be told apart."""

UNUSED = 0.05
"""Factor up to which an adapter is no part of a change."""


@dataclass(frozen=True, slots=True)
class Explained:
    """One adapter's part in a change.

    Attributes
    ----------
    index
        Which adapter.
    factor
        How often what it adds is in the change.
    off
        Norm of what is left of the change, over that of the change.
    turned
        Whether it is there transposed.
    """

    index: int
    factor: float
    off: float
    turned: bool = False


def explained(gram: NDArray[np.float64], adapters: int) -> tuple[Explained, ...]:
    """Explain a change by one adapter, by one that is transposed, or by a sum of them.

    Parameters
    ----------
    gram
        Inner products of the change, of what each adapter adds, and of the same
        transposed (left out where the weight is not square).

    Examples
    --------
    >>> import numpy as np
    >>> from ftlab.probes.merging.merge_explained import explained
    >>> change, added = np.array([2.0, 4.0]), np.array([1.0, 2.0])
    >>> vectors = np.stack([change, added])
    >>> explained(vectors @ vectors.T, 1)
    (Explained(index=0, factor=2.0, off=0.0, turned=False),)
    """
    if not np.isfinite(gram).all() or gram[0, 0] <= 0:
        return ()
    straight = _by_one(gram, range(1, adapters + 1))
    if straight is None or straight[2] > WHOLE:
        together = _by_sum(gram, adapters)
        if together and (straight is None or together[0].off < straight[2] / 2):
            return together
    if straight is not None:
        return (Explained(straight[0] - 1, *straight[1:]),)
    turned = _by_one(gram, range(adapters + 1, len(gram)))
    if turned is None:
        return ()
    return (Explained(turned[0] - 1 - adapters, *turned[1:], turned=True),)


def _by_one(gram: NDArray[np.float64], rows: range) -> tuple[int, float, float] | None:
    """Return the row that explains the change best, its factor and what is left."""
    found = []
    for row in rows:
        inner, size = gram[0, row], gram[row, row]
        if size > 0:
            left = 1 - inner * inner / (gram[0, 0] * size)
            found.append((row, float(inner / size), float(max(left, 0.0) ** 0.5)))
    best = min(found, key=lambda each: each[2], default=None)
    return best if best is not None and best[2] <= OFF else None


def _by_sum(gram: NDArray[np.float64], adapters: int) -> tuple[Explained, ...]:
    """Explain the change by several adapters that can be told apart."""
    used = [row for row in range(1, adapters + 1) if gram[row, row] > 0]
    if len(used) < 2:
        return ()
    inner, sizes = gram[np.ix_(used, used)], np.sqrt(gram[used, used])
    cosines = inner / np.outer(sizes, sizes) - np.eye(len(used))
    if np.abs(cosines).max() > ALIKE:
        return ()
    factors = np.linalg.solve(inner, gram[0, used])
    left = 1 - factors @ gram[0, used] / gram[0, 0]
    off = float(max(left, 0.0) ** 0.5)
    if off > OFF:
        return ()
    return tuple(
        Explained(row - 1, float(factor), off)
        for row, factor in zip(used, factors, strict=True)
        if abs(factor) > UNUSED
    )
