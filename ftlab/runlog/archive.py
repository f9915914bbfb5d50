"""What a run's folder holds and memory does not: old raw rows, roll-ups, ledger."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from ftlab.records.step import LedgerEntry
from ftlab.runlog.decode import column_of, identity_of, ledger_entries, pieces_from
from ftlab.runlog.matrix import Piece
from ftlab.runlog.segment import segment_numbers, segment_path
from ftlab.runlog.tail import read_segment, steps_of


class FolderArchive:
    """Reads the folder of one rank, only the segments and columns that are needed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._spans: dict[Path, tuple[int, int]] = {}

    def raw(self, table: str, column: str, start: int, stop: int) -> Iterator[Piece]:
        """Yield raw rows of the steps in ``[start, stop)``."""
        for part in self._between(table, start, stop, ["id", column]):
            yield from pieces_from(*identity_of(part), *_layers(part, [column]))

    def rolled(
        self, table: str, column: str, span: int, start: int, stop: int
    ) -> Iterator[Piece]:
        """Yield roll-ups whose windows begin in ``[start, stop)``."""
        parts = ("mean", "low", "high", "nonfinite", "count")
        names = [f"{column}_{part}" for part in parts]
        for part in self._between(f"rollup{span}-{table}", start, stop, ["id", *names]):
            *layers, count = _layers(part, names)[0]
            yield from pieces_from(*identity_of(part), layers, count > 0)

    def ledger(self, step: int) -> list[LedgerEntry]:
        """Return the operations of ``step``."""
        names = ["index", "op", "target", "detail"]
        parts = self._between("ledger", step, step + 1, names)
        return [entry for part in parts for entry in ledger_entries(part)]

    def _between(
        self, name: str, start: int, stop: int, columns: list[str]
    ) -> Iterator[pa.Table]:
        for number in segment_numbers(self.folder, name):
            path = segment_path(self.folder, name, number)
            first, last = self._spans.get(path, (start, start))
            if last < start or first >= stop:
                continue
            try:
                table = read_segment(path, ["step", *columns])
            except FileNotFoundError:  # thinned since the folder was listed
                continue
            if "step" not in table.column_names:  # torn before its first batch
                continue
            if (span := steps_of(table.schema)) is not None:
                self._spans[path] = span
            steps = table.column("step").to_numpy()
            inside = (steps >= start) & (steps < stop)
            if inside.any():
                yield table if inside.all() else table.filter(pa.array(inside))


def _layers(table: pa.Table, names: list[str]) -> tuple[list[np.ndarray], np.ndarray]:
    """Return columns as float32, and where the last of them is known."""
    layers, known = [], np.zeros(table.num_rows, bool)
    for name in names:
        if name in table.column_names:
            values, valid = column_of(table, name)
            known = np.ones(table.num_rows, bool) if valid is None else valid
        else:
            values = np.full(table.num_rows, np.nan, np.float32)
            known = np.zeros(table.num_rows, bool)
        layers.append(values)
    return layers, known
