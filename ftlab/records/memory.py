"""Memory of one step: every storage with its size, its life and its owner."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

Category = Literal[
    "weights",
    "adapters",
    "optimizer state",
    "gradients",
    "activations",
    "logits and loss",
    "batch",
    "temporary",
]

CATEGORIES: tuple[Category, ...] = get_args(Category)
"""In the order in which they are stacked: what stays is at the bottom."""

PhaseName = Literal["forward", "backward", "update"]
PHASES: tuple[PhaseName, ...] = get_args(PhaseName)

BEFORE = -1
"""Index of the operation that made what was there before the step."""

Stage = Literal["reserved", "bound", "reused", "evicted"]


@dataclass(frozen=True, slots=True)
class Life:
    """One storage, from the operation that made it to the last one that it outlived.

    Attributes
    ----------
    bytes
        Its size.
    born, died
        Index of the operation that made it, and of the last one during which it was
        there; `BEFORE` for what was there, the number of all operations for what stays
        behind.
    category
        Whose it is.
    op
        The operation that made it, such as ``"aten.mm.default"``; of what was there,
        its name.
    module, line
        Whose code that was: path of the module, and the source line.
    what
        dtype and shape of the first tensor on it.
    reads, last_read
        How often an operation was given it, and the last one that was.
    unwritten
        Whether it was made without values.
    """

    bytes: int
    born: int
    died: int
    category: Category
    op: str = ""
    module: str = ""
    line: str = ""
    what: str = ""
    reads: int = 0
    last_read: int = BEFORE
    unwritten: bool = False

    def stage(self, index: int) -> Stage:
        """Tell what it is at an operation.

        Reserved: made, and no operation has been given it yet. Bound: it is held, and
        an operation will be given it. Reused: it has been given to its last operation,
        and is still held. Evicted: it is gone.

        Examples
        --------
        >>> from ftlab.records.memory import Life
        >>> one = Life(8, 2, 9, "activations", reads=2, last_read=6)
        >>> one.stage(4), one.stage(7), one.stage(10)
        ('bound', 'reused', 'evicted')
        """
        if index > self.died:
            return "evicted"
        if self.unwritten and not self.reads:
            return "reserved"
        return "bound" if index <= self.last_read else "reused"


@dataclass(frozen=True, slots=True)
class StepMemory:
    """All storages of one step.

    Attributes
    ----------
    lives
        In the order of their making.
    phases
        For each, the index of its first operation.
    operations
        How many there were.
    heap
        The peak of what the C library or CUDA counts, by phase, less what belongs to
        others; empty where that is not measured.
    """

    lives: tuple[Life, ...]
    phases: tuple[int, int, int]
    operations: int
    heap: tuple[float, ...] = ()

    def live(self, category: Category | None = None) -> NDArray[np.float64]:
        """Return the bytes that are alive while each operation runs."""
        change = np.zeros(self.operations + 2)
        for each in self.lives:
            if category in (None, each.category):
                change[max(each.born, 0)] += each.bytes
                change[each.died + 1] -= each.bytes
        return change.cumsum()[: self.operations]

    @property
    def peak_at(self) -> int:
        """The operation at which most was alive."""
        return int(self.live().argmax())

    @property
    def peak(self) -> float:
        """Bytes that were alive then."""
        return float(self.live().max())

    def peaks(self) -> dict[str, float]:
        """Return the peak of each phase."""
        live = self.live()
        stops = (*self.phases[1:], self.operations)
        return {
            name: float(live[start:stop].max(initial=0.0))
            for name, start, stop in zip(PHASES, self.phases, stops, strict=True)
        }

    def phase_of(self, index: int) -> PhaseName:
        """Tell in which phase an operation is."""
        return PHASES[sum(index >= start for start in self.phases[1:])]

    def at_peak(self) -> dict[Category, float]:
        """Return what each category holds at the peak."""
        peak = self.peak_at
        return {each: float(self.live(each)[peak]) for each in CATEGORIES}

    def largest(self, at: int | None = None) -> Sequence[Life]:
        """Return what is alive at an operation, or at the peak; the largest first."""
        index = self.peak_at if at is None else at
        there = [each for each in self.lives if each.born <= index <= each.died]
        return sorted(there, key=lambda each: -each.bytes)


@dataclass(frozen=True, slots=True, eq=False)
class DeviceMemory:
    """What CUDA's allocator did on one device, in bytes.

    Attributes
    ----------
    allocated, reserved
        What tensors have, and what is reserved: before the first event, and after each.
    at_peak
        Line, bytes and number of allocations when most was allocated, the most first.
    failed
        Where memory ran out: event, what was asked for, what the device had free.
    free
        What is reserved and free at the end, by block.
    """

    device: int
    allocated: NDArray[np.float64]
    reserved: NDArray[np.float64]
    at_peak: Sequence[tuple[str, float, int]]
    failed: Sequence[tuple[int, float, float]]
    free: Sequence[float]
