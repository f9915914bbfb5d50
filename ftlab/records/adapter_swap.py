"""Adapters loaded, activated and deleted on a live model: plain values."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Swap:
    """One kind of operation with one adapter, over all rounds.

    Attributes
    ----------
    operation
        ``"load"``, ``"activate"``, ``"off"``, ``"on"`` or ``"delete"``.
    adapter
        Its name.
    seconds
        Of the operation, the median.
    first, second
        Seconds of the first forward after it and of the one behind that, medians.
    nbytes
        By how much live parameters and buffers grew, the median.
    cuda
        By how much CUDA's allocated memory grew; 0 without a device.
    checks, unequal
        How often the output after it was held against what it must be, and how often
        it was not that, bit for bit.
    where
        First place whose output was another one; ``""`` where none was.
    since
        Number of the operation, of all, after which that was first so; -1 for none.
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
    adapter
        Its name; ``""`` for the base alone.
    share
        Of the keys that are routed by shares; NaN where it has none.
    requests, failed
        How many were answered, and how many ended in an error.
    waited, waited_most
        Seconds before a request began: the median, and the largest.
    seconds, seconds_95
        Of a request, waiting left out: the median, and what 95 % took at most.
    """

    adapter: str
    share: float
    requests: int
    failed: int
    waited: float
    waited_most: float
    seconds: float
    seconds_95: float


@dataclass(frozen=True, slots=True)
class Arms:
    """All adapters of a bank.

    Attributes
    ----------
    arms
        One for each adapter that is loaded or was asked.
    switches
        How often the active adapter was changed for a request.
    """

    arms: tuple[Arm, ...]
    switches: int = 0


@dataclass(frozen=True, slots=True)
class Requests:
    """Mixed requests that several threads sent through a bank at once.

    Attributes
    ----------
    arms
        What they took.
    threads
        How many sent them.
    mixed
        How many were not answered as their adapter alone does, bit for bit.
    wrong
        How many of these were answered as another adapter, or the base, does.
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
    swaps
        By adapter, in the order of operations.
    rounds
        How often all was done.
    plain
        Seconds of a forward without adapters, the median.
    alike
        Pairs that answer the batch alike: no check can tell them apart. The base is
        called ``"the base"``.
    left
        Bytes of parameters and buffers that were left when all was deleted.
    restored
        Whether the model, put back, answers as it did before anything was done.
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
