"""The rows of a table, read segment after segment, each row once."""

import contextlib
from pathlib import Path

import pyarrow as pa

from ftlab.runlog.disk import LeftOut
from ftlab.runlog.segment import segment_numbers, segment_path
from ftlab.runlog.tail import StreamTail, read_file

THINNED = b"ftlab.thinned"


class SegmentsTail:
    """Follows a table; a segment that is closed meanwhile is read on from its file."""

    def __init__(self, folder: Path, name: str, number: int = 0) -> None:
        self.folder, self.name, self.number = folder, name, number
        self._stream: StreamTail | None = None
        self._rows = 0

    def read(self) -> list[tuple[Path, pa.Table]]:
        """Return what was completed since the last call, and where it stands."""
        tables: list[tuple[Path, pa.Table]] = []
        while True:
            # Asked before reading: a segment is closed before the next one begins, so
            # one that has a successor and is no file now was left behind as it is.
            superseded = self._superseded()
            path = segment_path(self.folder, self.name, self.number)
            table, closed = None, False
            with contextlib.suppress(FileNotFoundError), LeftOut(path):
                table, closed = self._read(path)
            if table is not None and table.num_rows:
                tables.append((path, table))
            elif closed or superseded:
                self._next()
            else:
                return tables

    def _read(self, path: Path) -> tuple[pa.Table, bool]:
        self._stream = self._stream or StreamTail(path)
        batches = self._stream.read()
        if self._stream.closed:
            table = read_file(path)
            # Rows are in the same order as in the stream, unless some were removed.
            lost = self._rows and THINNED in (table.schema.metadata or {})
            rest = table.slice(table.num_rows if lost else self._rows)
            self._rows = max(self._rows, table.num_rows)
            return rest, True
        self._rows += sum(batch.num_rows for batch in batches)
        return self._stream.table(batches), False

    def _superseded(self) -> bool:
        """Whether a later segment exists: this one was removed, or never closed."""
        numbers = segment_numbers(self.folder, self.name)
        return bool(numbers) and numbers[-1] > self.number

    def _next(self) -> None:
        later = [
            number
            for number in segment_numbers(self.folder, self.name)
            if number > self.number
        ]
        self.number = later[0] if later else self.number + 1
        self._stream, self._rows = None, 0
