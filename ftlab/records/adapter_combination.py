"""A weighted sum of adapters, and what PEFT makes of it: plain values."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CombinedLayer:
    """One layer's combined update, beside the sum that was asked for.

    Attributes
    ----------
    place
        Where it is.
    distance, size
        Norm of its scaling x B A less the weighted sum of the parts', and of that sum.
    """

    place: str
    distance: float
    size: float

    @property
    def relative(self) -> float:
        """The distance, of the sum's size."""
        return self.distance / self.size if self.size else float("nan")


@dataclass(frozen=True, slots=True)
class Combination:
    """What one combination type makes of the sum.

    Attributes
    ----------
    kind
        PEFT's ``combination_type``.
    rank, scaling
        Of the new adapter; the scaling should be 1.
    relative, layers
        Distance from the sum over its size, of all layers together, and of each.
    moved, turned
        Mean KL divergence of the next token from that of the sum, in nats, and the
        share of tokens after which another one is the likeliest; NaN without a batch.
    seconds
        That combining took.
    lost
        What the parts have beside A and B, and it has not.
    why
        Why PEFT refuses it; ``""`` where it does not.
    """

    kind: str
    rank: int = 0
    scaling: float = float("nan")
    relative: float = float("nan")
    layers: tuple[CombinedLayer, ...] = ()
    moved: float = float("nan")
    turned: float = float("nan")
    seconds: float = float("nan")
    lost: tuple[str, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class Combinations:
    """All combination types, of the same adapters and weights.

    Attributes
    ----------
    weights
        By adapter.
    combinations
        In PEFT's order.
    moved
        KL divergence of the next token with the sum from that without adapters.
    rounding
        Machine precision of the factors' dtype.
    """

    weights: Mapping[str, float]
    combinations: tuple[Combination, ...]
    moved: float
    rounding: float
