"""A block table in memory: recent steps raw, all steps as roll-ups."""

import itertools
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Protocol

from ftlab.records.errors import BadValueError
from ftlab.runlog.chunk import SPAN, Chunk, Rows
from ftlab.runlog.matrix import Bounds, Ids, Matrix, Pieces, Wanted, assemble
from ftlab.runlog.rollup import COARSE, FINE, RESOLUTIONS, Window, combine, merge


class Source(Protocol):
    """Where rows are that memory has let go of; in practice the run's folder."""

    def raw(self, table: str, columns: Wanted, bounds: Bounds) -> Iterable[Pieces]:
        """Yield raw rows of the steps in ``bounds``."""

    def rolled(
        self, table: str, columns: Wanted, span: int, bounds: Bounds
    ) -> Iterable[Pieces]:
        """Yield roll-ups whose windows begin in ``bounds``."""


class BlockTable:
    """Chunks of the latest steps, and a window for every 64 and 4,096 steps.

    One thread appends; readers take the tuples as they are at that moment.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.columns: dict[str, None] = {}
        self.chunks: tuple[Chunk, ...] = ()
        self.fine: tuple[Window, ...] = ()
        self.coarse: tuple[Window, ...] = ()
        self.nbytes = 0
        self.last_step = -1
        self._open: list[Chunk] = []

    def append(self, rows: Rows) -> bool:
        """Add rows; return whether they began a new window of `SPAN` steps."""
        window = rows.step // SPAN
        begins = not self._open or window != self._open[0].window
        if begins:
            self._begin(window, rows.step)
        self.columns.update(dict.fromkeys(rows.values))
        self._chunk(window, rows.ids).put(rows)
        self.last_step = rows.step
        return begins

    def _begin(self, window: int, step: int) -> None:
        if step < self.last_step:
            msg = (
                f"A block of step {step} came after step {self.last_step} in table "
                f"{self.name!r}; blocks must be appended in the order of their steps."
            )
            raise BadValueError(msg)
        if self._open:
            done = merge(self._open)
            if not self.fine or done.start > self.fine[-1].start:
                self.add_window(done)
            self.nbytes += sum(chunk.nbytes for chunk in self._open)
            self._open = []
        fine = self.fine
        if fine and window // SPAN > fine[-1].start // COARSE:
            self._finish_coarse(fine[-1].start // COARSE)

    def add_window(self, window: Window) -> None:
        """Add a finished roll-up (of this run's raw rows, or read from disk)."""
        self.columns.update(dict.fromkeys(window.columns))
        if window.span == COARSE:
            self.coarse = (*self.coarse, window)
        else:
            self.fine = (*self.fine, window)
        self.nbytes += window.nbytes

    def _finish_coarse(self, number: int) -> None:
        start = number * COARSE
        if self.coarse and self.coarse[-1].start >= start:
            return
        parts = [window for window in self.fine if window.start >= start]
        self.add_window(combine(parts, start, COARSE))

    def _chunk(self, window: int, ids: Ids) -> Chunk:
        for chunk in self._open:
            if chunk.ids is ids or _same(chunk.ids, ids):
                return chunk
        # Chunks of one run mostly share one array of ids; that makes joining fast.
        known = self.chunks[-1].ids if self.chunks else ids
        chunk = Chunk(window, known if _same(known, ids) else ids)
        self._open.append(chunk)
        self.chunks = (*self.chunks, chunk)
        return chunk

    def shrink(self) -> int:
        """Forget the oldest raw chunk, or then the oldest fine window; return bytes."""
        if self.chunks and self.chunks[0] not in self._open:
            freed, self.chunks = self.chunks[0].nbytes, self.chunks[1:]
        elif self.fine and self.coarse and self.fine[0].start < self.coarse[-1].start:
            freed, self.fine = self.fine[0].nbytes, self.fine[1:]
        else:
            return 0
        self.nbytes -= freed
        return freed

    @property
    def oldest(self) -> int:
        """First step that memory holds raw; beyond the last step when there is none."""
        chunks = self.chunks
        return int(chunks[0].steps[0]) if chunks else self.last_step + 1

    def matrices(
        self, columns: Wanted, bounds: Bounds, resolution: int, source: Source | None
    ) -> dict[str, Matrix]:
        """Return ``columns`` at the steps in ``bounds``."""
        if resolution not in RESOLUTIONS:
            allowed = ", ".join(map(str, RESOLUTIONS))
            msg = f"resolution is {resolution!r}; allowed are {allowed}."
            raise BadValueError(msg)
        if resolution == 1:
            found = self._raw(columns, bounds, source)
        else:
            found = self._rolled(columns, bounds, resolution, source)
        # what is joined is let go of, column by column
        return {name: assemble([each.pop(name) for each in found]) for name in columns}

    def _raw(
        self, columns: Wanted, bounds: Bounds, source: Source | None
    ) -> list[Pieces]:
        (start, stop), chunks, oldest = bounds, self.chunks, self.oldest
        found: list[Pieces] = []
        if source is not None and start < oldest:
            found += source.raw(self.name, columns, (start, min(stop, oldest)))
        # a live view asks for the last step of thousands of chunks, at every refresh
        begin = bisect_left(chunks, start // SPAN, key=_window)
        for chunk in itertools.islice(chunks, begin, None):
            if chunk.window * SPAN >= stop:
                break
            pieces = ((name, chunk.piece(name, start, stop)) for name in columns)
            there = {name: piece for name, piece in pieces if piece}
            found += [there] if there else []
        return found

    def _rolled(
        self, columns: Wanted, bounds: Bounds, span: int, source: Source | None
    ) -> list[Pieces]:
        first, stop = bounds[0] // span * span, bounds[1]
        windows = self._windows(span, stop)
        found: list[Pieces] = []
        begin = windows[0].start if windows else stop
        if source is not None and first < begin:
            found += source.rolled(self.name, columns, span, (first, min(begin, stop)))
        return found + [
            {name: window.piece(name, parts) for name, parts in columns.items()}
            for window in windows
            if first <= window.start < stop
        ]

    def _windows(self, span: int, stop: int) -> Sequence[Window]:
        """Return finished windows and the one that is still growing."""
        fine, coarse = self.fine, self.coarse
        last = fine[-1].start if fine else -1
        growing = [
            chunk
            for chunk in self.chunks
            if chunk.window * SPAN > last and chunk.count and chunk.steps[0] < stop
        ]
        if growing:
            fine = (*fine, merge(growing, stop))
        if span == FINE:
            return fine
        done = coarse[-1].start + COARSE if coarse else 0
        parts = [window for window in fine if window.start >= done]
        if parts:
            start = parts[0].start // COARSE * COARSE
            coarse = (*coarse, combine(parts, start, COARSE))
        return coarse


def _window(chunk: Chunk) -> int:
    return chunk.window


def _same(first: Ids, second: Ids) -> bool:
    return first.shape == second.shape and bool((first == second).all())
