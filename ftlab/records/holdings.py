"""Who holds memory now, and what the process has of it."""

from dataclasses import dataclass
from typing import Literal, get_args

Owner = Literal[
    "weights",
    "gradients",
    "optimizer state",
    "parameters of a model that is gone",
    "graphs",
    "batches",
    "other tensors",
    "other objects",
    "held inside libraries",
    "reached by no name",
]

OWNERS: tuple[Owner, ...] = get_args(Owner)


@dataclass(frozen=True, slots=True)
class Holding:
    """What one name holds of one kind.

    Attributes
    ----------
    owner
        The kind.
    path
        The name, as one would write it in Python.
    what
        A word on it: the class of a model or optimizer, or one thing that is held.
    bytes, count
        Of the storages, each counted once, on the shortest way to it.
    """

    owner: Owner
    path: str
    what: str
    bytes: int
    count: int


@dataclass(frozen=True, slots=True)
class ProcessMemory:
    """What the process has, in bytes; NaN where it cannot be told.

    Attributes
    ----------
    rss
        Resident.
    heap
        What the C library counts as allocated.
    allocated, reserved, largest_free
        CUDA's: of tensors, of its allocator, and its largest free block.
    pinned
        Page-locked memory of the host.
    """

    rss: float
    heap: float
    allocated: float = float("nan")
    reserved: float = float("nan")
    largest_free: float = float("nan")
    pinned: float = float("nan")

    @property
    def unused(self) -> float:
        """What CUDA's allocator keeps and no tensor has."""
        return self.reserved - self.allocated


@dataclass(frozen=True, slots=True)
class Holdings:
    """All that is held.

    Attributes
    ----------
    held
        The largest first.
    process
        What the process has.
    """

    held: tuple[Holding, ...]
    process: ProcessMemory

    def total(self, owner: Owner | None = None) -> int:
        """Return the bytes of a kind, or of all."""
        return sum(e.bytes for e in self.held if owner in (None, e.owner))
