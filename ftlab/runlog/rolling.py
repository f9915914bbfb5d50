"""Roll-ups while a run is written: finished windows, each given out once."""

from collections.abc import Iterator

from ftlab.runlog.blocks import BlockTable
from ftlab.runlog.chunk import Rows
from ftlab.runlog.rollup import COARSE, FINE, Window, combine, merge


class Rolling:
    """Keeps the raw rows of the window that is under way, and only these."""

    def __init__(self, table: str) -> None:
        self._table = BlockTable(table)
        self._given = {FINE: -1, COARSE: -1}

    def add(self, rows: Rows) -> list[Window]:
        """Add the rows of a step; return the windows that they finished."""
        if not self._table.append(rows):
            return []
        return list(self._finished())

    def _finished(self) -> Iterator[Window]:
        for window in (*self._table.fine, *self._table.coarse):
            if window.start > self._given[window.span]:
                self._given[window.span] = window.start
                yield window
        while self._table.shrink():
            pass

    def rest(self) -> list[Window]:
        """Return the windows that are under way, as far as they have come."""
        if not self._table.chunks:
            return []
        last = merge(self._table.chunks)
        start = last.start // COARSE * COARSE
        parts = [window for window in self._table.fine if window.start >= start]
        return [last, combine([*parts, last], start, COARSE)]
