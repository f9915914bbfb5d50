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
class LayerRank:
    """A pair, and the smallest rank that holds a share of its energy.

    Attributes
    ----------
    name, place
        Path of the layer, and where that is in every architecture.
    rank, enough
        r of the pair, and the smallest that holds the share.
    alpha
        With which a pair of that rank is scaled as this one is.
    """

    name: str
    place: str
    rank: int
    enough: int
    alpha: float


@dataclass(frozen=True, slots=True)
class RanksByLayer:
    """Each pair cut to the rank that its own spectrum asks for, all at once.

    Attributes
    ----------
    layers
        In the model's order.
    share
        Of each update's energy, that was kept.
    loss
        Of the batch.
    """

    layers: tuple[LayerRank, ...]
    share: float
    loss: float


@dataclass(frozen=True, slots=True)
class TruncatedRanks:
    """What each rank would do.

    Attributes
    ----------
    ranks
        Largest first.
    plain, without
        Seconds of a forward of the base alone, which is what a merged adapter takes,
        and its loss: what else an adapter has trained is off there, too.
    rank
        r of the adapter, the largest of its layers.
    by_layer
        What ranks by layer would do, for several shares, the smallest first.
    uncut
        Number of pairs that stay as they are, as those of several experts in one.
    """

    ranks: tuple[TruncatedRank, ...]
    plain: float
    rank: int
    without: float
    by_layer: tuple[RanksByLayer, ...] = ()
    uncut: int = 0
