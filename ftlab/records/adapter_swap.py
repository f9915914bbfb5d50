"""Adapters loaded, activated and deleted on a live model: plain values."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Swap:
    """One kind of operation with one adapter, over all rounds.

    Attributes
    ----------
    operation, adapter
        ``"load"``, ``"activate"``, ``"off"``, ``"on"`` or ``"delete"``, of which one.
    seconds, first, second
        Of the operation, of the first forward after it, of the next one: medians.
    nbytes, cuda
        By how much parameters and buffers grew, and CUDA's allocated memory; medians.
    checks, unequal
        How often the output was held against what it must be, and was not that.
    where, since
        First place that returned something else, and the number of the operation, of
        all, after which it first did; -1 for none.
    """

    operation: str
    adapter: str
    seconds: float
    first: float
    second: float
    nbytes: int
    cuda: int = 0
    checks: int = 0
    unequal: int = 0
    where: str = ""
    since: int = -1


@dataclass(frozen=True, slots=True)
class Arm:
    """What a bank's requests to one adapter took.

    Attributes
    ----------
    adapter, share
        Its name, and the part of all keys that it answers; NaN where it has none.
    requests, failed
        How many were answered, and how many ended in an error.
    waited, waited_most, seconds
        Seconds before a request began (median, largest), and those of one (median).
    """

    adapter: str
    share: float
    requests: int
    failed: int
    waited: float
    waited_most: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Arms:
    """All adapters of a bank, and how often the active one was changed."""

    arms: tuple[Arm, ...]
    switches: int = 0


@dataclass(frozen=True, slots=True)
class Requests:
    """Mixed requests that several threads sent through a bank at once.

    Attributes
    ----------
    arms, threads
        What they took, and how many sent them.
    mixed, wrong
        How many were not answered as their adapter alone does, bit for bit, and how
        many of these as another one does.
    routing
        Seconds that a bank adds to a request that needs no switch, the median.
    """

    arms: Arms
    threads: int
    mixed: int
    wrong: int
    routing: float


@dataclass(frozen=True, slots=True)
class Swapped:
    """What hot swapping did and took.

    Attributes
    ----------
    swaps, rounds
        By operation and adapter, and how often all was done.
    plain
        Seconds of a forward without adapters, the median.
    alike
        Pairs that answer the batch alike, so that no check can tell them apart.
    left, restored
        Bytes left when all was deleted, and whether the model answers as at first.
    requests
        What concurrent requests did; ``None`` where none were sent.
    """

    swaps: tuple[Swap, ...]
    rounds: int
    plain: float
    alike: tuple[tuple[str, str], ...]
    left: int
    restored: bool
    requests: Requests | None = None
