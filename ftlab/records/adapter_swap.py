"""Adapters loaded, activated and deleted on a live model: plain values."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Swap:
    """One operation (load, activate, off, on, delete) with one adapter, in all rounds.

    Medians are ``seconds`` of it, of the ``first`` forward after it and of the
    ``second``, and by how many bytes parameters and buffers grew, and CUDA's memory. Of
    ``checks`` answers ``unequal`` were not what they must be; ``where`` is the first
    place that returned something else, after the operation ``since``, of all.
    """

    operation: str
    adapter: str
    seconds: float
    first: float
    second: float
    nbytes: float = 0
    cuda: float = 0
    checks: int = 0
    unequal: int = 0
    where: str = ""
    since: int = -1


@dataclass(frozen=True, slots=True)
class Arm:
    """A bank's requests to one adapter (``""``: the base), and its share of the keys.

    ``waited`` and ``seconds`` are medians: before a request began, and of one.
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
class Swapped:
    """What hot swapping did and took.

    ``alike`` are pairs that no check can tell apart, ``left`` the bytes that are left
    when all is deleted; ``restored`` says whether the model answers as at first. Of the
    requests from ``threads`` at once ``mixed`` were not answered as their adapter alone
    does, ``wrong`` of them as another one; a bank adds ``routing`` seconds to each.
    """

    swaps: tuple[Swap, ...]
    rounds: int
    alike: tuple[tuple[str, str], ...]
    left: int
    restored: bool
    sent: Arms = Arms(())
    threads: int = 0
    mixed: int = 0
    wrong: int = 0
    routing: float = 0.0
