"""What a run's folder holds and memory does not: old raw rows, roll-ups, ledger."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from ftlab.records.step import LedgerEntry
from ftlab.runlog.arrow import array_of, values_of
from ftlab.runlog.decode import column_of, identity_of, ledger_entry, pieces_from
from ftlab.runlog.disk import LeftOut
from ftlab.runlog.matrix import Piece
from ftlab.runlog.segment import segment_numbers, segment_path
from ftlab.runlog.tail import file_schema, read_segment, steps_of


class FolderArchive:
    """Reads the folder of one rank, only the segments and columns that are needed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._spans: dict[Path, tuple[int, int]] = {}

    def raw(self, table: str, column: str, start: int, stop: int) -> Iterator[Piece]:
        """Yield raw rows of the steps in ``[start, stop)``."""
        for _, part in self._between(table, (start, stop), ["id"], [column]):
            yield from pieces_from(*identity_of(part), *_layers(part, [column]))

    def rolled(
        self, table: str, column: str, span: int, start: int, stop: int
    ) -> Iterator[Piece]:
        """Yield roll-ups whose windows begin in ``[start, stop)``."""
        parts = ("mean", "low", "high", "nonfinite", "count")
        names = [f"{column}_{part}" for part in parts]
        name = f"rollup{span}-{table}"
        for _, part in self._between(name, (start, stop), ["id"], names):
            *layers, count = _layers(part, names)[0]
            yield from pieces_from(*identity_of(part), layers, count > 0)

    def ledger(self, step: int) -> list[LedgerEntry]:
        """Return the operations of ``step``."""
        entries, needed = [], ["index", "op", "target", "detail"]
        for path, part in self._between("ledger", (step, step + 1), needed):
            for row in part.to_pylist():
                with LeftOut(path):
                    entries.append(ledger_entry(row))
        return entries

    def _span_of(self, path: Path) -> tuple[int, int] | None:
        """Return the steps of a closed segment, which stay what they are."""
        if path not in self._spans:
            span = steps_of(file_schema(path) or pa.schema([]))
            if span is None:
                return None
            self._spans[path] = span
        return self._spans[path]

    def _between(
        self,
        name: str,
        bounds: tuple[int, int],
        needed: Sequence[str],
        further: Sequence[str] = (),
    ) -> Iterator[tuple[Path, pa.Table]]:
        start, stop = bounds
        for number in segment_numbers(self.folder, name):
            path = segment_path(self.folder, name, number)
            first, last = self._span_of(path) or (start, start)
            if last < start or first >= stop:
                continue
            try:
                table = read_segment(path, ["step", *needed, *further])
            except FileNotFoundError:  # thinned since the folder was listed
                continue
            # One that was torn before its first batch has no columns.
            if not {"step", *needed} <= set(table.column_names):
                continue
            steps = values_of(table.column("step"))
            inside = (steps >= start) & (steps < stop)
            if inside.any():
                yield path, table if inside.all() else table.filter(array_of(inside))


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
