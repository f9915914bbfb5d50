"""Rows of Parquet files, and of Arrow's two formats."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ftlab.probes.data.files.entries import LARGEST, Broken, Entry
from ftlab.records.errors import BadValueError

BATCH = 1024
"""Rows that are read at once, fewer where they are large."""

ARROW_MARK = b"ARROW1"
_NO_VALUE = (pa.ArrowException, ValueError, OverflowError, KeyError)
_UNREADABLE = (pa.ArrowException, OSError, ValueError, MemoryError)
"""A broken size may ask for any amount of memory."""


def parquet_file(path: str) -> pq.ParquetFile:
    """Open a Parquet file.

    Raises
    ------
    BadValueError
        It cannot be read: it was cut off, most often.
    """
    try:
        return pq.ParquetFile(path)
    except _UNREADABLE as error:
        msg = (
            f"{path} cannot be read as Parquet: {_short(error)}. The index at its end "
            "is missing or broken, as when a download was cut off: fetch it anew."
        )
        raise BadValueError(msg) from error


def parquet_rows(path: str) -> Iterator[Entry]:
    """Yield the rows of a Parquet file; a row group that cannot be read is named."""
    number = 0
    for batch in parquet_batches(path):
        if isinstance(batch, Broken):
            yield Entry(number, batch)
            number += batch.rows
            continue
        for row in values_of(batch):
            yield Entry(number, row)
            number += 1


def values_of(batch: pa.RecordBatch | pa.Table) -> list[Any]:
    """Return rows as Python values; one that has none is named.

    Its text may be no UTF-8, its time lie in a zone that nobody knows.
    """
    try:
        return batch.to_pylist()
    except _NO_VALUE as error:
        if batch.num_rows == 1:
            utf8 = isinstance(error, UnicodeDecodeError)
            return [Broken(f"{'no UTF-8' if utf8 else 'no value'}: {_short(error)}")]
    return [
        row for at in range(batch.num_rows) for row in values_of(batch.slice(at, 1))
    ]


def parquet_batches(path: str) -> Iterator[pa.RecordBatch | Broken]:
    """Yield a Parquet file's rows in batches, group by group."""
    with parquet_file(path) as file:
        for group in range(file.num_row_groups):
            facts = file.metadata.row_group(group)
            size = max(1, facts.total_byte_size // max(1, facts.num_rows))
            rows = max(1, min(BATCH, LARGEST // size))
            seen = 0
            try:
                for batch in file.iter_batches(rows, row_groups=[group]):
                    yield batch
                    seen += batch.num_rows
            except _UNREADABLE as error:
                lost = facts.num_rows - seen
                says = f"row group {group} cannot be read: {_short(error)}"
                yield Broken(f"{says}; {lost:,} rows are lost", rows=max(1, lost))


def arrow_rows(path: str) -> Iterator[Entry]:
    """Yield the rows of an Arrow file or stream, as far as they can be read."""
    number = 0
    for batch in arrow_batches(path):
        if isinstance(batch, Broken):
            yield Entry(number, batch)
            number += batch.rows
            continue
        for start in range(0, batch.num_rows, BATCH):
            for row in values_of(batch.slice(start, BATCH)):
                yield Entry(number, row)
                number += 1


def arrow_batches(path: str) -> Iterator[pa.RecordBatch | Broken]:
    """Yield an Arrow file's batches.

    A file without its index at the end is read as the stream that it holds, up to where
    it was cut off.
    """
    with Path(path).open("rb") as file:
        is_file = file.read(len(ARROW_MARK)) == ARROW_MARK
        if is_file:
            file.seek(0)
            try:
                reader = pa.ipc.open_file(file)
            except _UNREADABLE:
                file.seek(8)
            else:
                yield from _file_batches(reader)
                return
        else:
            file.seek(0)
        yield from _stream_batches(file, cut=is_file)


def _file_batches(reader: Any) -> Iterator[pa.RecordBatch | Broken]:
    for at in range(reader.num_record_batches):
        try:
            batch = reader.get_batch(at)
        except _UNREADABLE as error:
            yield Broken(f"batch {at} cannot be read: {_short(error)}")
        else:
            yield _checked(at, batch)


def _stream_batches(file: Any, *, cut: bool) -> Iterator[pa.RecordBatch | Broken]:
    try:
        reader = pa.ipc.open_stream(file)
        for at, batch in enumerate(reader):
            yield _checked(at, batch)
    except _UNREADABLE as error:
        says = f"cannot be read as Arrow from here on: {_short(error)}"
        yield Broken(f"{says}; it was cut off" if cut else says)
    else:
        if cut:
            yield Broken("the file's index is missing: it was cut off behind this row")


def _checked(at: int, batch: pa.RecordBatch) -> pa.RecordBatch | Broken:
    """Check the offsets of a batch: to read by broken ones may end the process."""
    try:
        batch.validate(full=True)
    except _UNREADABLE as error:
        lost = batch.num_rows
        says = f"batch {at} cannot be read: {_short(error)}; {lost:,} rows are lost"
        return Broken(says, rows=max(1, lost))
    return batch


def _short(error: Exception) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".")[:160]
