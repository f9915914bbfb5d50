"""Reading segments that grow, that are closed meanwhile, or that were cut off."""

import struct
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from ftlab.records.errors import SchemaError
from ftlab.records.plain_files import open_file
from ftlab.runlog.batches import column_type
from ftlab.runlog.disk import LeftOut, name_damage
from ftlab.runlog.folder import check_version

_MAGIC = b"ARROW1"
_PREFIX = struct.Struct("<Ii")
_CONTINUES = 0xFFFFFFFF
_ENDS = ("first", "last")


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
        with open_file(self.path) as file:
            # The name may stand for another file at any time, an open file does not.
            self.closed = file.read(len(_MAGIC)) == _MAGIC
            if self.closed:
                return []
            file.seek(self._offset)
            return self.parse(file.read())

    def table(self, batches: list[pa.RecordBatch]) -> pa.Table:
        """Return what `read` has given as one table."""
        schema = self.schema or pa.schema([])
        return sound(pa.Table.from_batches(batches, schema), self.path)

    def parse(self, data: bytes) -> list[pa.RecordBatch]:
        """Return the whole batches of what lies beyond the last one read."""
        source, batches, done = pa.BufferReader(data), [], 0
        with LeftOut(self.path):
            while _announced(data, done):
                try:
                    message = pa.ipc.read_message(source)
                except (pa.ArrowException, OSError, EOFError) as error:
                    if str(error).startswith("Expected to"):  # its end is missing
                        break
                    raise
                if self.schema is None:
                    self.schema = _checked(pa.ipc.read_schema(message), self.path)
                else:
                    batches.append(pa.ipc.read_record_batch(message, self.schema))
                done = source.tell()
        self._offset += done
        return batches


def _announced(data: bytes, start: int) -> bool:
    """Whether all that is said of a message is there, if one begins at ``start``."""
    if len(data) - start < _PREFIX.size:
        return False
    marker, length = _PREFIX.unpack_from(data, start)
    if (marker, length) != (0, 0) and (marker != _CONTINUES or length < 0):
        msg = f"no message begins at byte {start}"
        raise ValueError(msg)
    return bool(0 < length <= len(data) - start - _PREFIX.size)


def _checked(schema: pa.Schema, path: Path) -> pa.Schema:
    version = (schema.metadata or {}).get(b"ftlab.schema")
    check_version({} if version is None else {"schema": version}, path)
    return schema


def sound(table: pa.Table, path: Path) -> pa.Table:
    """Return the columns that are as the schema of the log has them; name the others.

    All that reads a table relies on their types, and on steps and ids in all rows.
    """
    name, good = path.stem.rpartition("-")[0], []
    for each in table.column_names:
        column, wanted = table.column(each), column_type(name, each)
        if column.type != wanted or not each.isprintable():
            name_damage(path, f"{each} holds {column.type} instead of {wanted}")
        elif column.null_count and each in ("step", "id"):
            name_damage(path, f"{column.null_count} rows have no {each}")
        else:
            good.append(each)
    table = table.select(good) if good else pa.table({})
    table.validate(full=True)
    return table


def read_file(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Return a closed segment, or those of ``columns`` that it has.

    A damaged one is left out, with a warning.
    """
    # Not mapped: then the system reads ahead what no column needs.
    with LeftOut(path), pa.OSFile(str(path)) as source:
        names = _checked(pa.ipc.open_file(source).schema, path).names
        wanted = names if columns is None else columns
        fields = [names.index(name) for name in wanted if name in names]
        options = pa.ipc.IpcReadOptions(included_fields=fields, use_threads=False)
        return sound(pa.ipc.open_file(source, options=options).read_all(), path)
    return pa.table({})


def read_segment(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Return a segment, growing or closed, or those of ``columns`` that it has."""
    tail, table = StreamTail(path), pa.table({})
    with LeftOut(path):
        table = tail.table(tail.read())
    if tail.closed:
        return read_file(path, columns)
    wanted = table.column_names if columns is None else columns
    return table.select([name for name in wanted if name in table.column_names])


def file_schema(path: Path) -> pa.Schema | None:
    """Return the schema of a closed segment, ``None`` of a growing one.

    It has no columns when the segment is damaged, which is told when it is read.
    """
    try:
        with open_file(path) as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                return None
        with pa.OSFile(str(path)) as source:
            return _checked(pa.ipc.open_file(source).schema, path)
    except SchemaError:
        raise
    except Exception:  # noqa: BLE001  whatever Arrow raises for what is no segment
        return pa.schema([])


def rows_in(schema: pa.Schema) -> int:
    """Return how many rows a closed segment says that it has."""
    return _number(schema, b"ftlab.rows") or 0


def steps_of(schema: pa.Schema) -> tuple[int, int] | None:
    """Return the first and last step of a closed segment; None where it says none."""
    first, last = (_number(schema, f"ftlab.{end}_step".encode()) for end in _ENDS)
    return None if first is None or last is None else (first, last)


def _number(schema: pa.Schema, key: bytes) -> int | None:
    found = (schema.metadata or {}).get(key, b"")
    return int(found) if found.isdigit() and len(found) < 19 else None
