"""A weighted sum of adapters, and what PEFT makes of it: plain values."""

import math
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Combination:
    """What one combination type of PEFT's makes of the sum; ``why`` if it refuses to.

    Attributes
    ----------
    rank, scaling
        Of the new adapter; the scaling should be 1.
    layers
        Place, norm of its scaling x B A less the sum of the parts', norm of that sum.
    moved, turned
        Mean KL divergence of the next token from that with the sum, in nats, and the
        share of tokens after which another one is the likeliest.
    lost
        What the parts have beside A and B, and it has not.
    """

    kind: str
    rank: int = 0
    scaling: float = math.nan
    layers: tuple[tuple[str, float, float], ...] = ()
    moved: float = math.nan
    turned: float = math.nan
    lost: tuple[str, ...] = ()
    why: str = ""

    @property
    def relative(self) -> float:
        """Distance from the sum over its size, of all layers together."""
        size = math.hypot(*(size for _, _, size in self.layers))
        apart = math.hypot(*(distance for _, distance, _ in self.layers))
        return apart / size if size else math.nan


@dataclass(frozen=True, slots=True)
class Combinations:
    """All combination types, of the same adapters and weights.

    ``moved`` is the KL divergence of the next token with the sum from that without
    adapters; types are ``exact`` that make the sum, but for rounding.
    """

    weights: Mapping[str, float]
    combinations: tuple[Combination, ...]
    moved: float
    exact: tuple[str, ...]
