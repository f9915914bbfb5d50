"""Reading segments that grow, that are closed meanwhile, or that were cut off."""

import struct
import warnings
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from ftlab.records.errors import FtlabWarning
from ftlab.runlog.folder import check_version

_MAGIC = b"ARROW1"
_PREFIX = struct.Struct("<Ii")
_CONTINUES = 0xFFFFFFFF
_TORN = (pa.ArrowInvalid, OSError, EOFError)


class StreamTail:
    """The whole batches of an Arrow IPC stream, each read once.

    Attributes
    ----------
    closed
        True once an Arrow IPC file has taken the stream's place.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.closed = False
        self.schema: pa.Schema | None = None
        self._offset = 0

    def read(self) -> list[pa.RecordBatch]:
        """Return the batches that were completed since the last call."""
        with self.path.open("rb") as file:
            # The name may stand for another file at any time, an open file does not.
            self.closed = file.read(len(_MAGIC)) == _MAGIC
            if self.closed:
                return []
            file.seek(self._offset)
            return self.parse(file.read())

    def parse(self, data: bytes) -> list[pa.RecordBatch]:
        """Return the whole batches of what lies beyond the last one read."""
        source, batches, done = pa.BufferReader(data), [], 0
        while _announced(data, done):
            try:
                message = pa.ipc.read_message(source)
                if self.schema is None:
                    self.schema = _checked(pa.ipc.read_schema(message), self.path)
                else:
                    batches.append(pa.ipc.read_record_batch(message, self.schema))
            except _TORN:
                break
            done = source.tell()
        self._offset += done
        return batches


def _announced(data: bytes, start: int) -> bool:
    """Whether a message seems to begin at ``start``: marker and a plausible length."""
    if len(data) - start < _PREFIX.size:
        return False
    marker, length = _PREFIX.unpack_from(data, start)
    return bool(marker == _CONTINUES and 0 < length <= len(data) - start - _PREFIX.size)


def _checked(schema: pa.Schema, path: Path) -> pa.Schema:
    version = (schema.metadata or {}).get(b"ftlab.schema")
    check_version({} if version is None else {"schema": version}, path)
    return schema


def read_file(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Return a closed segment, or those of ``columns`` that it has.

    A damaged one is left out, with a warning.
    """
    try:
        with pa.memory_map(str(path)) as source:
            names = _checked(pa.ipc.open_file(source).schema, path).names
            wanted = names if columns is None else columns
            fields = [names.index(name) for name in wanted if name in names]
            options = pa.ipc.IpcReadOptions(included_fields=fields, use_threads=False)
            return pa.ipc.open_file(source, options=options).read_all()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        msg = f"{str(path)!r} is damaged and was left out: {error}"
        warnings.warn(msg, FtlabWarning, stacklevel=2)
        return pa.Table.from_batches([], pa.schema([]))


def is_closed(path: Path) -> bool:
    """Whether the segment is an Arrow IPC file, complete and never to change."""
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def read_segment(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Return a segment, growing or closed, or those of ``columns`` that it has."""
    tail = StreamTail(path)
    batches = tail.read()
    if tail.closed:
        return read_file(path, columns)
    table = pa.Table.from_batches(batches, tail.schema or pa.schema([]))
    wanted = table.column_names if columns is None else columns
    return table.select([name for name in wanted if name in table.column_names])


def file_schema(path: Path) -> pa.Schema:
    """Return the schema of a closed segment, with no columns when it is damaged."""
    try:
        with pa.memory_map(str(path)) as source:
            return _checked(pa.ipc.open_file(source).schema, path)
    except (pa.ArrowInvalid, OSError):
        return pa.schema([])


def rows_in(schema: pa.Schema) -> int:
    """Return how many rows a closed segment has."""
    return int((schema.metadata or {}).get(b"ftlab.rows", 0))


def steps_of(schema: pa.Schema) -> tuple[int, int] | None:
    """Return the first and last step of a closed segment; None for a growing one."""
    metadata = schema.metadata or {}
    keys = b"ftlab.first_step", b"ftlab.last_step"
    if not all(key in metadata for key in keys):
        return None
    first, last = (int(metadata[key]) for key in keys)
    return first, last
