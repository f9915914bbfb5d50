"""Segments: the files of one table, of which only the last one is still growing.

The growing one is an Arrow IPC *stream*, to which whole batches are appended. When it
is full it is rewritten as a compressed Arrow IPC *file* of the same name, atomically:
whoever opens that name finds the one or the other, complete.
"""

import contextlib
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from ftlab.runlog.arrow import values_of
from ftlab.runlog.disk import replace, write_all
from ftlab.runlog.tail import read_segment

_OPTIONS = pa.ipc.IpcWriteOptions(compression="zstd", use_threads=False)
_BATCH_ROWS = 2**16


@dataclass(frozen=True, slots=True)
class Limits:
    """When segments are closed, and how much may lie on the disk.

    Attributes
    ----------
    segment_bytes, segment_rows
        A growing segment is closed when it has reached one of them.
    disk_budget
        Bytes that closed raw segments of block tables may take; older ones are thinned
        beyond it, except around findings. ``None`` keeps everything.
    """

    segment_bytes: int = 8 * 2**20
    segment_rows: int = 2**20
    disk_budget: int | None = None


class Segments:
    """Writes the segments of one table; a `flush` is one ``write`` to the system."""

    def __init__(
        self,
        folder: Path,
        name: str,
        limits: Limits,
        on_seal: Callable[[Path], None] | None = None,
    ) -> None:
        self.folder, self.name, self.limits = folder, name, limits
        self.on_seal = on_seal
        self.number = -1
        self.schema: pa.Schema | None = None
        self._file = -1
        self._pending: list[pa.Buffer] = []
        self._rows = self._bytes = 0

    @property
    def path(self) -> Path:
        """The growing segment."""
        return segment_path(self.folder, self.name, self.number)

    def add(self, batch: pa.RecordBatch, schema: pa.Schema) -> None:
        """Queue a batch; another ``schema`` object begins a new segment."""
        if self.schema is not schema:
            self.seal()
            self.number += 1
            self.schema = schema
            self._pending.append(schema.serialize())
        self._pending.append(batch.serialize())
        self._rows += batch.num_rows

    def flush(self) -> bool:
        """Write what is queued; return whether the segment is full now."""
        if not self._pending:
            return False
        if self._file < 0:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
            self._file = os.open(self.path, flags, 0o644)
        data = b"".join(memoryview(buffer) for buffer in self._pending)
        self._pending.clear()
        write_all(self._file, data)
        self._bytes += len(data)
        limits = self.limits
        return self._bytes >= limits.segment_bytes or self._rows >= limits.segment_rows

    def seal(self) -> None:
        """Close the growing segment, if there is one."""
        if self.schema is None:
            return
        self.flush()
        self.release()
        self.schema, self._rows, self._bytes = None, 0, 0
        write_file(self.path, read_segment(self.path))
        if self.on_seal is not None:
            self.on_seal(self.path)

    def release(self) -> None:
        """Let go of the file without closing the segment."""
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)


def segment_path(folder: Path, name: str, number: int) -> Path:
    """Return the path of a segment."""
    return folder / f"{name}-{number:06d}.arrow"


def segment_numbers(folder: Path, name: str) -> list[int]:
    """Return the numbers of the segments that ``name`` has, in order."""
    pattern = re.compile(rf"{re.escape(name)}-(\d+)\.arrow")
    with contextlib.suppress(FileNotFoundError), os.scandir(folder) as entries:
        found = [pattern.fullmatch(each.name) for each in entries]
        return sorted(int(each[1]) for each in found if each)
    return []


def write_file(path: Path, table: pa.Table, notes: Sequence[str] = ()) -> None:
    """Write an Arrow IPC file that says which steps it has, and put it in place."""
    steps = values_of(table.column("step"))
    metadata = dict(table.schema.metadata) | {
        "ftlab.first_step": str(steps.min() if len(steps) else -1),
        "ftlab.last_step": str(steps.max() if len(steps) else -1),
        "ftlab.rows": str(len(steps)),
        **dict.fromkeys(notes, "1"),
    }
    sink = pa.BufferOutputStream()
    table = table.combine_chunks().replace_schema_metadata(metadata)
    with pa.ipc.new_file(sink, table.schema, options=_OPTIONS) as writer:
        writer.write_table(table, max_chunksize=_BATCH_ROWS)
    replace(path, sink.getvalue())
