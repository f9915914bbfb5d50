"""What is left of an adapter at smaller ranks: plain values."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TruncatedRank:
    """All pairs of an adapter, cut down to their largest directions.

    Attributes
    ----------
    rank
        Directions that are kept of each; 0 for none.
    loss
        Of the batch.
    seconds
        Of a forward, the median of several, with factors of this rank beside the base.
    kept
        Share of the updates' energy that is left.
    """

    rank: int
    loss: float
    seconds: float
    kept: float


@dataclass(frozen=True, slots=True)
class TruncatedRanks:
    """What each rank would do.

    Attributes
    ----------
    ranks
        Largest first.
    plain
        Seconds of a forward of the base alone, which is what a merged adapter takes.
    rank
        r of the adapter, the largest of its layers.
    """

    ranks: tuple[TruncatedRank, ...]
    plain: float
    rank: int
