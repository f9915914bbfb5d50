"""A weighted sum of adapters, and what PEFT makes of it: plain values."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Combination:
    """What one combination type makes of the sum.

    Attributes
    ----------
    kind
        PEFT's ``combination_type``.
    rank, scaling
        Of the new adapter; the scaling should be 1.
    layers
        By place: norm of its scaling x B A less the weighted sum of the parts', and of
        that sum.
    moved, turned
        Mean KL divergence of the next token from that of the sum, in nats, and the
        share of tokens after which another one is the likeliest; NaN without a batch.
    lost
        What the parts have beside A and B, and it has not.
    why
        Why PEFT refuses it; ``""`` where it does not.
    """

    kind: str
    rank: int = 0
    scaling: float = float("nan")
    layers: tuple[tuple[str, float, float], ...] = ()
    moved: float = float("nan")
    turned: float = float("nan")
    lost: tuple[str, ...] = ()
    why: str = ""

    @property
    def relative(self) -> float:
        """Distance from the sum over its size, of all layers together."""
        apart, size = (sum(each[at] ** 2 for each in self.layers) for at in (1, 2))
        return float((apart / size) ** 0.5) if size else float("nan")


@dataclass(frozen=True, slots=True)
class Combinations:
    """All combination types, of the same adapters and weights.

    Attributes
    ----------
    weights, combinations
        By adapter, and by type in PEFT's order.
    moved
        KL divergence of the next token with the sum from that without adapters.
    rounding
        Machine precision of the factors' dtype.
    """

    weights: Mapping[str, float]
    combinations: tuple[Combination, ...]
    moved: float
    rounding: float
