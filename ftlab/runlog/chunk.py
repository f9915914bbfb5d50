"""Up to 64 consecutive steps of rows that stay the same: what raw memory is made of."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ftlab.records.errors import BadValueError
from ftlab.records.step import Block
from ftlab.runlog.matrix import Bools, Floats, Ids, Piece

SPAN = 64
"""Steps in a chunk; chunks begin at multiples of it, as the finer roll-up does."""


@dataclass(frozen=True, slots=True)
class Rows:
    """A block with what is known of it: ``known`` has no entry where all of it is.

    Attributes
    ----------
    known
        By column, which rows were measured.
    """

    table: str
    step: int
    ids: Ids
    values: Mapping[str, Floats]
    known: Mapping[str, Bools]


def rows_of(block: Block) -> Rows:
    """Check a block and say which of its rows were measured.

    A parameter whose ``.grad`` is ``None`` (``has_grad`` is 0) has no gradient columns.
    """
    for name, values in block.values.items():
        if values.shape != block.ids.shape:
            msg = (
                f"Column {name!r} of table {block.table!r} has shape {values.shape}; "
                f"its ids have shape {block.ids.shape}."
            )
            raise BadValueError(msg)
    known: dict[str, Bools] = {}
    if block.table == "tensors" and "has_grad" in block.values:
        has_grad = np.asarray(block.values["has_grad"]) != 0
        if not has_grad.all():
            known = {name: has_grad for name in block.values if name[:5] == "grad_"}
    return Rows(block.table, block.step, block.ids, block.values, known)


class ChunkColumn:
    """Values of one column, stored only for the steps at which it was measured."""

    __slots__ = ("data", "known", "slots", "used")

    def __init__(self, rows: int) -> None:
        self.slots: NDArray[np.int16] = np.full(SPAN, -1, np.int16)
        self.data: Floats = np.empty((4, rows), np.float32)
        self.known: Bools | None = None
        self.used = 0

    def put(self, line: int, values: Floats, known: Bools | None) -> None:
        """Set the values of one step; the slot is published last, for readers."""
        slot = int(self.slots[line])
        if slot < 0:
            slot, self.used = self.used, self.used + 1
            if slot == len(self.data):
                self._grow()
        self.data[slot] = values
        if known is not None and self.known is None:
            self.known = np.ones(self.data.shape, bool)
        if self.known is not None:
            self.known[slot] = True if known is None else known
        self.slots[line] = slot

    def _grow(self) -> None:
        size = (4 * len(self.data), self.data.shape[1])
        data = np.empty(size, np.float32)
        data[: len(self.data)] = self.data
        if self.known is not None:
            known = np.ones(size, bool)
            known[: len(self.known)] = self.known
            self.known = known
        self.data = data

    def read(self, lines: slice) -> tuple[Floats, Bools]:
        """Return values and known for ``lines``, copied."""
        slots = self.slots[lines].copy()
        data, mask = self.data, self.known
        there = slots >= 0
        values = np.where(there[:, None], data[slots], np.float32(np.nan))
        known = np.repeat(there[:, None], data.shape[1], axis=1)
        if mask is not None:
            # `data` may have grown since `mask` was read, never the other way round.
            known &= mask[np.minimum(slots, len(mask) - 1)]
            values[~known] = np.nan
        return values, known

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return self.data.nbytes + (0 if self.known is None else self.known.nbytes)


class Chunk:
    """Rows of one block table with the same ids within one window of `SPAN` steps."""

    __slots__ = ("columns", "count", "ids", "steps", "window")

    def __init__(self, window: int, ids: Ids) -> None:
        self.window = window
        self.ids = ids
        self.steps: NDArray[np.int64] = np.zeros(SPAN, np.int64)
        self.count = 0
        self.columns: dict[str, ChunkColumn] = {}

    def put(self, rows: Rows) -> None:
        """Add columns at a step, which is the last step or a later one."""
        step, last = rows.step, int(self.steps[self.count - 1]) if self.count else -1
        if step < last:
            msg = (
                f"A block of step {step} came after step {last}; blocks of a "
                "table must be appended in the order of their steps."
            )
            raise BadValueError(msg)
        line = self.count - 1 if step == last else self.count
        for name, entry in rows.values.items():
            column = self.columns.get(name)
            if column is None:
                column = self.columns[name] = ChunkColumn(len(self.ids))
            column.put(line, entry, rows.known.get(name))
        self.steps[line] = step
        self.count = line + 1

    def piece(self, column: str, start: int, stop: int) -> Piece | None:
        """Return ``column`` at the steps in ``[start, stop)``, if there are any."""
        steps = self.steps[: self.count]
        first, last = np.searchsorted(steps, [start, stop])
        if first == last:
            return None
        lines = slice(int(first), int(last))
        stored = self.columns.get(column)
        if stored is None:
            shape = (int(last - first), len(self.ids))
            blank = np.full(shape, np.nan, np.float32)
            return Piece(steps[lines].copy(), self.ids, (blank,), np.zeros(shape, bool))
        values, known = stored.read(lines)
        return Piece(steps[lines].copy(), self.ids, (values,), known)

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return 1024 + sum(column.nbytes for column in self.columns.values())
