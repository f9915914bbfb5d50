"""Moments made by hand, so that one probe is tested without the recorder."""

from collections.abc import Iterable

import numpy as np

from ftlab.probes.naming import named_trainables
from ftlab.probes.probe import Moment, Reading, Tensors
from ftlab.probes.subject import Subject
from ftlab.records.step import Block


class Bench:
    """Hands moments of one model to a probe and finishes its readings."""

    def __init__(self, model, *optimizers, **settings) -> None:
        self.model = model
        self.subject = Subject(model, optimizers, **settings)
        self.names: dict[tuple[str, str], int] = {}
        self.metas: dict[str, dict] = {}

    def name(self, table, name, kind, meta, **fields) -> int:
        self.metas[name] = meta | fields
        return self.names.setdefault((table, name), 1000 + len(self.names))

    def moment(self, step: int = 0) -> Moment:
        entries = named_trainables(self.model)
        tensors = Tensors(
            np.arange(len(entries), dtype=np.int32),
            tuple(entry.name for entry in entries),
            tuple(entry.parameter for entry in entries),
        )
        return Moment(step, self.subject, tensors, 1.0, self.name)


def finished(readings: Iterable[Reading]) -> list:
    """Read back and finish, as the recorder does one step later."""
    return [
        result
        for reading in readings
        for result in reading.finish(reading.values.detach().float().cpu().numpy())
    ]


def rows_of(results: Iterable) -> dict[int, dict[str, float]]:
    """Merge blocks into one mapping per row id."""
    rows: dict[int, dict[str, float]] = {}
    for block in results:
        if isinstance(block, Block):
            for column, values in block.values.items():
                for row, value in zip(block.ids.tolist(), values.tolist(), strict=True):
                    rows.setdefault(row, {})[column] = value
    return rows


def values_of(results: Iterable) -> dict[str, float]:
    """Merge what a probe adds to the step's row."""
    merged: dict[str, float] = {}
    for result in results:
        if isinstance(result, dict):
            merged |= result
    return merged
