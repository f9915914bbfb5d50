"""Roll-ups: what 64 or 4,096 steps were like, in five numbers per row and column."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ftlab.runlog.chunk import SPAN, Chunk
from ftlab.runlog.matrix import PARTS, Floats, Ids, Piece

FINE, COARSE = SPAN, SPAN * SPAN
RESOLUTIONS = (1, FINE, COARSE)
"""Steps that one line of a matrix can stand for."""

Counts = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Rolled:
    """One column of a window: five numbers per row.

    Attributes
    ----------
    lines
        Of shape ``(5, rows)``, in the order of the properties: one array, for a small
        model's runs have tens of thousands of columns. Counts are at most 4,096.
    """

    lines: Floats

    @classmethod
    def of(cls, **parts: NDArray[Any]) -> "Rolled":
        """Put together what the properties are to return."""
        wanted = ("low", "high", "mean", "nonfinite", "count")
        return cls(np.stack([parts[name] for name in wanted], dtype=np.float32))

    @property
    def low(self) -> Floats:
        """Of the finite values; NaN where there was none."""
        return np.asarray(self.lines[0])

    @property
    def high(self) -> Floats:
        """Of the finite values; NaN where there was none."""
        return np.asarray(self.lines[1])

    @property
    def mean(self) -> Floats:
        """Of the finite values; NaN where there was none."""
        return np.asarray(self.lines[2])

    @property
    def nonfinite(self) -> Counts:
        """How many values were NaN or infinite."""
        return np.asarray(self.lines[3], np.int32)

    @property
    def count(self) -> Counts:
        """How many were measured."""
        return np.asarray(self.lines[4], np.int32)


@dataclass(frozen=True, slots=True)
class Window:
    """A table over the steps from ``start`` to before ``start + span``."""

    start: int
    span: int
    ids: Ids
    columns: dict[str, Rolled]

    def piece(self, column: str, parts: Sequence[str] = PARTS) -> Piece:
        """Return ``parts`` of ``column``, and the count of non-finite, as one line."""
        steps = np.array([self.start], np.int64)
        rolled = self.columns.get(column)
        if rolled is None:
            blank = np.full((1, len(self.ids)), np.nan, np.float32)
            layers = (blank,) * (len(parts) + 1)
            return Piece(steps, self.ids, layers, np.zeros(blank.shape, bool))
        ends = (*parts, "nonfinite")
        lines = tuple(getattr(rolled, end)[None].astype(np.float32) for end in ends)
        return Piece(steps, self.ids, lines, rolled.count[None, :] > 0)

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return len(self.columns) * len(self.ids) * 20


def roll(chunk: Chunk, stop: int | None = None) -> Window:
    """Reduce the steps of a chunk (those before ``stop``) to one window."""
    steps = chunk.steps[: chunk.count]
    lines = chunk.count if stop is None else int(np.searchsorted(steps, stop))
    columns = {}
    for name, column in list(chunk.columns.items()):
        slots = column.slots[:lines]
        used = int(slots.max(initial=-1)) + 1
        if used:
            known = None if column.known is None else column.known[:used]
            columns[name] = reduce_lines(column.data[:used], known)
    return Window(chunk.window * SPAN, FINE, chunk.ids, columns)


def reduce_lines(data: Floats, known: NDArray[np.bool_] | None = None) -> Rolled:
    """Reduce values of shape ``(steps, rows)`` over the steps."""
    finite = np.isfinite(data)
    if known is None:
        count = np.full(data.shape[1], len(data), np.int32)
    else:
        finite &= known
        count = known.sum(axis=0, dtype=np.int32)
    number = finite.sum(axis=0, dtype=np.int32)
    total = np.where(finite, data, 0).sum(axis=0, dtype=np.float64)
    low = np.where(finite, data, np.float32(np.inf)).min(axis=0)
    high = np.where(finite, data, np.float32(-np.inf)).max(axis=0)
    return _finish(low, high, total, number, count)


def _finish(
    low: Floats, high: Floats, total: NDArray[np.float64], number: Counts, count: Counts
) -> Rolled:
    mean = (total / np.maximum(number, 1)).astype(np.float32)
    nothing = number == 0
    for array in (low, high, mean):
        array[nothing] = np.nan
    return Rolled.of(
        low=low, high=high, mean=mean, nonfinite=count - number, count=count
    )


def combine(windows: Sequence[Window], start: int, span: int) -> Window:
    """Join windows, of which some may share rows, into one that covers all of them."""
    same = all(window.ids is windows[0].ids for window in windows)
    ids = (
        windows[0].ids
        if same
        else np.unique(np.concatenate([window.ids for window in windows]))
    )
    names = dict.fromkeys(name for window in windows for name in window.columns)
    columns = {name: _combine_column(windows, name, ids) for name in names}
    return Window(start, span, ids, columns)


def _combine_column(windows: Sequence[Window], name: str, ids: Ids) -> Rolled:
    low = np.full(len(ids), np.inf, np.float32)
    high = np.full(len(ids), -np.inf, np.float32)
    total = np.zeros(len(ids))
    number, count = np.zeros(len(ids), np.int32), np.zeros(len(ids), np.int32)
    for window in windows:
        part = window.columns.get(name)
        if part is None:
            continue
        at = slice(None) if window.ids is ids else np.searchsorted(ids, window.ids)
        finite = part.count - part.nonfinite
        low[at] = np.fmin(low[at], part.low)
        high[at] = np.fmax(high[at], part.high)
        total[at] += np.where(finite > 0, part.mean, 0).astype(np.float64) * finite
        number[at] += finite
        count[at] += part.count
    return _finish(low, high, total, number, count)


def merge(chunks: Sequence[Chunk], stop: int | None = None) -> Window:
    """Roll up the chunks of one window."""
    windows = [roll(chunk, stop) for chunk in chunks]
    return windows[0] if len(windows) == 1 else combine(windows, windows[0].start, FINE)
