"""Makes the records of a step out of what was measured."""

from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from typing import Any

import numpy as np

from ftlab.probes.probe import Result
from ftlab.probes.stepping.open_step import OpenStep
from ftlab.records.event import Event
from ftlab.records.names import NameRecord
from ftlab.records.step import Block, LedgerEntry, StepRecord

_OF_A_STEP = frozenset(
    {
        "forward",
        "backward",
        "zero_grad",
        "unscale",
        "clip",
        "step",
        "skip",
        "scheduler_step",
        "scaler_update",
    }
)
"""Operations that make a step; those of one that was never made belong to none."""

_FIELDS = frozenset(field.name for field in fields(StepRecord)) - {"values"}


def records_of(
    step: OpenStep, results: Iterable[Result], trainer_step: int | None
) -> Iterator[NameRecord | Event | Block | LedgerEntry | StepRecord]:
    """Yield names, events, blocks, ledger entries and at last the step's row.

    Values that come several times, once for each micro-batch, are added up.
    """
    blocks: list[Block] = []
    values: dict[str, float] = {}
    for result in results:
        if isinstance(result, Block):
            blocks.append(result)
        elif isinstance(result, NameRecord | Event):
            yield result
        else:
            for name, value in result.items():
                values[name] = values.get(name, 0.0) + value
    yield from _merged(blocks)
    yield from step.ledger.records(step.step)
    yield _row(step, step.values | values, trainer_step)


def late_records(step: OpenStep, last: tuple[int, int] | None) -> Iterator[LedgerEntry]:
    """Yield what was done to the model after the last step: saved, loaded, merged.

    Parameters
    ----------
    step
        The step that was open when watching ended; no update was attempted in it.
    last
        Number and count of operations of the step before, which they are kept with;
        ``None`` where there is none, and they are of step -1.
    """
    entries = step.ledger.records(step.step)
    late = [entry for entry in entries if entry.op not in _OF_A_STEP]
    number, count = last or (-1, 0)
    for index, entry in enumerate(late):
        yield replace(entry, step=number, index=count + index)


def _row(
    step: OpenStep, values: dict[str, float], trainer_step: int | None
) -> StepRecord:
    if step.ledger.dropped:
        values["ledger_dropped"] = float(step.ledger.dropped)
    named: dict[str, Any] = {n: values.pop(n) for n in _FIELDS & values.keys()}
    return StepRecord(
        step=step.step,
        micro_batches=step.micro_batches,
        trainer_step=trainer_step,
        values=values,
        **(step.draft | named),
    )


def _merged(blocks: Iterable[Block]) -> Iterator[Block]:
    """Make one block of each table; a row that a column lacks has NaN there."""
    tables: dict[str, list[Block]] = {}
    for block in blocks:
        tables.setdefault(block.table, []).append(block)
    for group in tables.values():
        yield _joined(group)


def _joined(blocks: list[Block]) -> Block:
    first = blocks[0]
    if all(np.array_equal(first.ids, other.ids) for other in blocks[1:]):
        values = {name: v for block in blocks for name, v in block.values.items()}
        return Block(first.table, first.step, first.ids, values)
    ids = np.unique(np.concatenate([block.ids for block in blocks]))
    values = {}
    for block in blocks:
        places = np.searchsorted(ids, block.ids)
        for name, column in block.values.items():
            whole = values.setdefault(name, np.full(len(ids), np.nan, np.float32))
            whole[places] = column
    return Block(first.table, first.step, ids.astype(np.int32), values)
