"""Records as Arrow record batches: the columns of every table on disk."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ftlab.records.step import Column, Evaluation, LedgerEntry, StepRecord
from ftlab.runlog.arrow import array_of, float_arrays, plain_array
from ftlab.runlog.chunk import Rows
from ftlab.runlog.codec import dumps
from ftlab.runlog.matrix import Floats
from ftlab.runlog.rollup import Window
from ftlab.runlog.schema import (
    EVALUATIONS,
    IDENTITY,
    LEDGER,
    ROLLED,
    STEP_COLUMNS,
    STEP_MEANINGS,
    STEP_VALUES,
    TABLES,
    VERSION,
)

STEP_TYPES: Mapping[str, pa.DataType] = {
    "step": pa.int64(),
    "skipped": pa.bool_(),
    "micro_batches": pa.int32(),
    "trainer_step": pa.int64(),
    "lr": pa.list_(pa.float64()),
}
"""Types of the columns of the table of steps that are no plain float64."""


def column_type(table: str, column: str) -> pa.DataType:
    """Return the type that a column of a table on disk has."""
    if table == "steps":
        return STEP_TYPES.get(column, pa.float64())
    lists = {"ledger": LEDGER_SCHEMA, "eval": EVALUATION_SCHEMA}
    if table in lists:
        at = lists[table].get_field_index(column)
        return lists[table].types[at] if at >= 0 else pa.null()
    if table.startswith("rollup") and column.endswith(("_nonfinite", "_count")):
        return pa.int32()
    return {"step": pa.int64(), "id": pa.int32()}.get(column, pa.float32())


def schema_of(
    table: str, columns: Iterable[Column], types: Mapping[str, pa.DataType]
) -> pa.Schema:
    """Return an Arrow schema whose fields say their unit and meaning."""
    fields = [
        pa.field(
            column.name,
            types.get(column.name, pa.float32()),
            metadata={"unit": column.unit, "meaning": column.meaning},
        )
        for column in columns
    ]
    metadata = {"ftlab.schema": str(VERSION), "ftlab.table": table}
    return pa.schema(fields, metadata=metadata)


def describe(
    table: str, names: Iterable[str], declared: Mapping[str, Column]
) -> list[Column]:
    """Return the declarations of columns; one that nobody declared names itself."""
    standard = STEP_VALUES if table == "steps" else TABLES.get(table, {})
    known = {**standard, **declared}
    return [known.get(name, Column(name, "1", name)) for name in names]


def steps_schema(values: Sequence[Column]) -> pa.Schema:
    """Return the schema of the table of steps with these further columns."""
    columns = [STEP_MEANINGS[name] for name in ("step", *STEP_COLUMNS, "lr")]
    columns += values
    types = {
        column.name: STEP_TYPES.get(column.name, pa.float64()) for column in columns
    }
    return schema_of("steps", columns, types)


def steps_batch(records: Sequence[StepRecord], schema: pa.Schema) -> pa.RecordBatch:
    """Return one row per step."""
    kinds = dict(zip(schema.names, schema.types, strict=True))
    own = [name for name in schema.names if name not in STEP_MEANINGS]
    known = [[record.values.get(name) for record in records] for name in own]
    arrays = dict(zip(own, float_arrays(known), strict=True))
    for name in kinds.keys() & STEP_MEANINGS.keys():
        column = [getattr(record, name) for record in records]
        arrays[name] = plain_array(column, kinds[name])
    columns = [arrays[name] for name in schema.names]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def rows_schema(table: str, columns: Iterable[Column]) -> pa.Schema:
    """Return the schema of a block table: step, id and one float32 per column."""
    types = {"step": pa.int64(), "id": pa.int32()}
    return schema_of(table, [*IDENTITY.values(), *columns], types)


def rows_batch(parts: Sequence[Rows], schema: pa.Schema) -> pa.RecordBatch:
    """Return one row per step and id; what was not measured is null."""
    sizes = [len(rows.ids) for rows in parts]
    steps = np.repeat(np.array([rows.step for rows in parts], np.int64), sizes)
    ids = np.concatenate([rows.ids for rows in parts])
    columns = [_floats(parts, name) for name in schema.names[2:]]
    return pa.RecordBatch.from_arrays(
        [array_of(steps), array_of(ids), *columns], schema=schema
    )


def _floats(parts: Sequence[Rows], name: str) -> pa.Array:
    """Return a column of float32 values, null where they are not known."""
    values = [rows.values.get(name, _blank(rows)) for rows in parts]
    data = np.concatenate(values, dtype=np.float32)
    if all(name in rows.values and name not in rows.known for rows in parts):
        return array_of(data)
    known = [
        rows.known.get(name, np.full(len(rows.ids), name in rows.values))
        for rows in parts
    ]
    return array_of(data, np.concatenate(known))


def _blank(rows: Rows) -> Floats:
    return np.full(len(rows.ids), np.nan, np.float32)


def windows_schema(table: str, span: int, columns: Sequence[Column]) -> pa.Schema:
    """Return the schema of roll-ups: five columns for each column of the table."""
    entries = [
        Column(f"{column.name}_{part}", column.unit, f"{column.meaning} {meaning}")
        for column in columns
        for part, meaning in ROLLED.items()
    ]
    types: dict[str, pa.DataType] = {"step": pa.int64(), "id": pa.int32()}
    for column in columns:
        counts = (f"{column.name}_{part}" for part in ("nonfinite", "count"))
        types |= dict.fromkeys(counts, pa.int32())
    return schema_of(f"rollup{span}-{table}", [*IDENTITY.values(), *entries], types)


def window_batch(window: Window, schema: pa.Schema) -> pa.RecordBatch:
    """Return one row per id of a roll-up; ``step`` is where its window begins."""
    size = len(window.ids)
    arrays = [array_of(np.full(size, window.start, np.int64)), array_of(window.ids)]
    for field in list(schema)[2:]:
        name, part = field.name.rsplit("_", 1)
        rolled = window.columns.get(name)
        if rolled is None:
            arrays.append(pa.nulls(size, field.type))
        else:
            arrays.append(array_of(getattr(rolled, part)))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


LEDGER_SCHEMA = schema_of(
    "ledger",
    LEDGER.values(),
    {"step": pa.int64(), "index": pa.int32()}
    | dict.fromkeys(("op", "target", "detail"), pa.string()),
)
EVALUATION_SCHEMA = schema_of(
    "eval",
    EVALUATIONS.values(),
    {"step": pa.int64(), "time": pa.float64()}
    | {"metric": pa.string(), "value": pa.float64()},
)


def ledger_batch(entries: Sequence[LedgerEntry]) -> pa.RecordBatch:
    """Return one row per operation; its detail is JSON."""
    columns: dict[str, list[Any]] = {
        "step": [entry.step for entry in entries],
        "index": [entry.index for entry in entries],
        "op": [entry.op for entry in entries],
        "target": [entry.target for entry in entries],
        "detail": [dumps(entry.detail) for entry in entries],
    }
    arrays = [plain_array(columns[each.name], each.type) for each in LEDGER_SCHEMA]
    return pa.RecordBatch.from_arrays(arrays, schema=LEDGER_SCHEMA)


def evaluation_batch(records: Sequence[Evaluation]) -> pa.RecordBatch:
    """Return one row per metric."""
    rows = [
        (record.step, record.time, name, float(value))
        for record in records
        for name, value in record.metrics.items()
    ]
    columns = zip(*rows, strict=True) if rows else [()] * 4
    arrays = [
        plain_array(list(column), field.type)
        for column, field in zip(columns, EVALUATION_SCHEMA, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=EVALUATION_SCHEMA)
