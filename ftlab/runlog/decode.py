"""Arrow tables of a run's folder as records again."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ftlab.records.names import NameRecord
from ftlab.records.printable import harmless
from ftlab.records.step import Evaluation, LedgerEntry
from ftlab.runlog.arrow import lists_of, valid_of, values_of
from ftlab.runlog.chunk import Rows
from ftlab.runlog.codec import from_json, loads
from ftlab.runlog.matrix import Bools, Ids, Piece, Pieces, Steps
from ftlab.runlog.rollup import Rolled, Window
from ftlab.runlog.schema import ROLLED
from ftlab.runlog.steps import StepRows, rectangle

LONGEST = 1000
"""Characters of a name, and of what is said of it."""


def step_rows(table: pa.Table) -> StepRows:
    """Return rows of the table of steps."""
    columns = {}
    for name in table.column_names:
        if name not in ("step", "lr"):
            column = table.column(name)
            values = values_of(column).astype(np.float64, copy=False)
            columns[name] = values, valid_of(column)
    rates = np.full((table.num_rows, 0), np.nan)
    if "lr" in table.column_names:
        rates = rectangle(*lists_of(table.column("lr")))
    return StepRows(values_of(table.column("step")), columns, rates)


def slices(steps: Steps, ids: Ids) -> list[tuple[int, int]]:
    """Return where batches begin and end: within one, ids increase.

    A step may have several batches, when an event made a commit in its middle.
    """
    if not len(steps):
        return []
    ends = np.flatnonzero((np.diff(steps) != 0) | (np.diff(ids) <= 0)) + 1
    return list(zip([0, *ends.tolist()], [*ends.tolist(), len(steps)], strict=True))


def column_of(table: pa.Table, name: str) -> tuple[NDArray[np.float32], Bools | None]:
    """Return a float32 column, and what of it is known (None: all)."""
    column = table.column(name)
    values = values_of(column).astype(np.float32, copy=False)
    if not column.null_count:
        return values, None
    return values, valid_of(column)


def rows_from(name: str, table: pa.Table) -> Iterator[Rows]:
    """Yield the rows of a block table, step by step."""
    steps, ids = identity_of(table)
    columns = {column: column_of(table, column) for column in table.column_names[2:]}
    for first, last in slices(steps, ids):
        values, known = {}, {}
        for column, (data, valid) in columns.items():
            part = None if valid is None else valid[first:last]
            if part is not None and not part.any():
                continue
            values[column] = data[first:last]
            if part is not None and not part.all():
                known[column] = part
        yield Rows(name, int(steps[first]), ids[first:last], values, known)


def identity_of(table: pa.Table) -> tuple[Steps, Ids]:
    """Return the columns ``step`` and ``id``."""
    return values_of(table.column("step")), values_of(table.column("id"))


def windows_from(table: pa.Table, span: int) -> Iterator[Window]:
    """Yield roll-ups."""
    steps, ids = identity_of(table)
    end = f"_{next(iter(ROLLED))}"
    columns = {
        name.removesuffix(end): {
            part: table.column(f"{name.removesuffix(end)}_{part}") for part in ROLLED
        }
        for name in table.column_names
        if name.endswith(end)
    }
    for first, last in slices(steps, ids):
        rolled = {}
        for name, parts in columns.items():
            cut = {part: parts[part].slice(first, last - first) for part in ROLLED}
            if not cut["count"].null_count:
                arrays = {part: values_of(column) for part, column in cut.items()}
                rolled[name] = Rolled.of(**arrays)
        yield Window(int(steps[first]), span, ids[first:last], rolled)


def pieces_from(
    steps: Steps, ids: Ids, columns: Mapping[str, tuple[list[NDArray[Any]], Bools]]
) -> Iterator[Pieces]:
    """Yield a piece of each column for all steps that follow with the same rows."""
    groups: list[list[tuple[int, int]]] = []
    for first, last in slices(steps, ids):
        before = groups[-1][-1] if groups else None
        if before and _follows(steps, ids, before, (first, last)):
            groups[-1].append((first, last))
        else:
            groups.append([(first, last)])
    for group in groups:
        first, width, last = group[0][0], group[0][1] - group[0][0], group[-1][1]
        part, shape = slice(first, last), (len(group), width)
        yield {
            name: Piece(
                steps[first:last:width],
                ids[first : first + width],
                tuple(layer[part].reshape(shape) for layer in layers),
                known[part].reshape(shape),
            )
            for name, (layers, known) in columns.items()
        }


def _follows(
    steps: Steps, ids: Ids, before: tuple[int, int], now: tuple[int, int]
) -> bool:
    """Whether a batch has the rows of the one before it, at a later step."""
    same = np.array_equal(ids[slice(*before)], ids[slice(*now)])
    return same and bool(steps[now[0]] > steps[before[0]])


def name_record(value: Any) -> NameRecord:
    """Return a line of ``names.jsonl``, its texts cut to what can be shown."""
    record: NameRecord = from_json(NameRecord, _cut(value))
    if not 0 <= record.id < 2**31:
        msg = f"id {record.id} is no row of a table"
        raise ValueError(msg)
    return record


def _cut(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _cut(each) for key, each in value.items()}
    long = isinstance(value, str) and len(value) > LONGEST
    return f"{value[:LONGEST]}..." if long else value


def ledger_entry(row: Mapping[str, Any]) -> LedgerEntry:
    """Return a row of the ledger."""
    read = {**row, "detail": loads(row["detail"])}
    return from_json(LedgerEntry, harmless(read))


def evaluations_from(rows: Iterable[Mapping[str, Any]]) -> Iterator[Evaluation]:
    """Yield evaluations; the metrics of one follow each other."""
    for (step, time), group in groupby(rows, lambda row: (row["step"], row["time"])):
        metrics = {row["metric"]: row["value"] for row in group}
        entry = {"step": step, "time": time, "metrics": harmless(metrics)}
        yield from_json(Evaluation, entry)
