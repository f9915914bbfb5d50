"""Rows of Parquet and Arrow files, written with the columns that these have."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from ftlab.probes.data.files.arrow_files import arrow_batches, parquet_batches
from ftlab.probes.data.files.entries import Broken, LeftOut, Source
from ftlab.records.errors import BadValueError

COLUMNAR = {"parquet": parquet_batches, "arrow": arrow_batches}
"""Forms of sources that have columns, and what reads them."""


def write_parquet(sources: Sequence[Source], file: BinaryIO, left_out: LeftOut) -> int:
    """Write a Parquet file, and return how many rows it has."""
    return _write(sources, left_out, lambda schema: pq.ParquetWriter(file, schema))


def write_arrow(sources: Sequence[Source], file: BinaryIO, left_out: LeftOut) -> int:
    """Write an Arrow file, and return how many rows it has."""
    return _write(sources, left_out, lambda schema: pa.ipc.new_file(file, schema))


def _write(
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
            writer.write_batch(_in_order(batch, first.schema))
            kept += batch.num_rows
    return kept


def _in_order(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch with the columns of the first file, which name them all."""
    if sorted(batch.schema.names) != sorted(schema.names):
        msg = (
            f"The files have different columns, {', '.join(schema.names)} and "
            f"{', '.join(batch.schema.names)}; a copy as lines, rows.jsonl, holds both."
        )
        raise BadValueError(msg)
    if batch.schema.names != schema.names:
        batch = batch.select(schema.names)
    return batch.cast(schema)


def _filtered(sources: Sequence[Source], left_out: LeftOut) -> Iterator[pa.RecordBatch]:
    number = 0
    for source in sources:
        for batch in COLUMNAR[source.form](source.path):
            if isinstance(batch, Broken):
                number += batch.rows
                continue
            numbers = range(number, number + batch.num_rows)
            yield batch.filter(pa.array([not left_out(each) for each in numbers]))
            number += batch.num_rows
