"""A copy of a dataset without some rows; what it is copied from is only read."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from ftlab.probes.data.arrow_files import arrow_batches, parquet_batches
from ftlab.probes.data.entries import Broken, Source
from ftlab.probes.data.json_files import raw_lines
from ftlab.records.errors import BadValueError

LINES = ".jsonl"
_BATCHES = {"parquet": parquet_batches, "arrow": arrow_batches}

LeftOut = Callable[[int], bool]


def write_copy(
    sources: Sequence[Source],
    path: str,
    left_out: LeftOut,
    check: Callable[[], None] | None = None,
) -> int:
    """Write the rows that are not left out, and return how many these are.

    Lines of JSON are copied as they are. Parquet and Arrow files keep their columns
    where the copy is such a file. The copy appears under its name when it is whole.

    Parameters
    ----------
    path
        A new file whose name ends in ``.jsonl``; of Parquet or Arrow files also
        ``.parquet`` or ``.arrow``.
    left_out
        Tells by the number of a row.
    check
        Called before the copy appears under its name; what it raises keeps it away.

    Raises
    ------
    BadValueError
        The file exists, cannot be written, or cannot hold these rows.
    """
    target = Path(path)
    write = _writer(sources, target)
    if os.path.lexists(target):
        msg = f"{path} exists; name a new file: what is there is never changed."
        raise BadValueError(msg)
    part = target.with_name(f".{target.name}.part")
    try:
        with part.open("xb") as file:
            kept = write(sources, file, left_out)
        if check is not None:
            check()
        part.replace(target)
    except (OSError, pa.ArrowException) as error:
        msg = f"{path} was not written: {error}."
        raise BadValueError(msg) from error
    finally:
        part.unlink(missing_ok=True)
    return kept


def _writer(
    sources: Sequence[Source], target: Path
) -> Callable[[Sequence[Source], BinaryIO, LeftOut], int]:
    ending = target.suffix
    if ending == LINES:
        return _write_lines
    columnar = all(source.form in _BATCHES for source in sources)
    if columnar and ending == ".parquet":
        return _write_parquet
    if columnar and ending == ".arrow":
        return _write_arrow
    allowed = f"{LINES}, .parquet or .arrow" if columnar else LINES
    msg = f"{target} ends in {ending or 'nothing'}; a copy of these ends in {allowed}."
    raise BadValueError(msg)


def _write_lines(sources: Sequence[Source], file: BinaryIO, left_out: LeftOut) -> int:
    number = kept = 0
    for source in sources:
        for line, rows in _lines(source):
            if line and not left_out(number):
                file.write(line)
                kept += 1
            number += rows
    return kept


def _lines(source: Source) -> Iterator[tuple[bytes, int]]:
    """Yield each row as a line, ``b""`` for what cannot be read, and how many it is."""
    if source.form == "json lines":
        for _, raw in raw_lines(source.path):
            yield b"" if isinstance(raw, Broken) else raw.rstrip(b"\r\n") + b"\n", 1
        return
    for entry in source.read():
        if isinstance(entry.value, Broken):
            yield b"", entry.value.rows
        else:
            yield _dumped(entry.at, entry.value), 1


def _dumped(at: int, row: Any) -> bytes:
    try:
        return json.dumps(row, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
    except (TypeError, ValueError, RecursionError) as error:
        msg = (
            f"Row {at} holds what JSON cannot: {error}. "
            "dataset.select(report.kept()) gives the rows themselves."
        )
        raise BadValueError(msg) from error


def _filtered(sources: Sequence[Source], left_out: LeftOut) -> Iterator[pa.RecordBatch]:
    number = 0
    for source in sources:
        for batch in _BATCHES[source.form](source.path):
            if isinstance(batch, Broken):
                number += batch.rows
                continue
            numbers = range(number, number + batch.num_rows)
            yield batch.filter(pa.array([not left_out(each) for each in numbers]))
            number += batch.num_rows


def _write_parquet(sources: Sequence[Source], file: BinaryIO, left_out: LeftOut) -> int:
    return _write_batches(
        sources, left_out, lambda schema: pq.ParquetWriter(file, schema)
    )


def _write_arrow(sources: Sequence[Source], file: BinaryIO, left_out: LeftOut) -> int:
    return _write_batches(
        sources, left_out, lambda schema: pa.ipc.new_file(file, schema)
    )


def _write_batches(
    sources: Sequence[Source], left_out: LeftOut, opened: Callable[[Any], Any]
) -> int:
    batches = _filtered(sources, left_out)
    first = next(batches, None)
    if first is None:
        msg = "nothing can be read"
        raise OSError(msg)
    kept = first.num_rows
    with opened(first.schema) as writer:
        writer.write_batch(first)
        for batch in batches:
            writer.write_batch(batch.cast(first.schema))
            kept += batch.num_rows
    return kept
