"""What a run's folder holds and memory does not: old raw rows, roll-ups, ledger."""

import functools
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from ftlab.records.step import LedgerEntry
from ftlab.runlog.arrow import array_of, valid_of, values_of
from ftlab.runlog.decode import identity_of, ledger_entry, pieces_from
from ftlab.runlog.disk import LeftOut
from ftlab.runlog.matrix import Bounds, Pieces, Wanted
from ftlab.runlog.segment import segment_numbers, segment_path
from ftlab.runlog.tail import file_schema, read_segment, steps_of


class FolderArchive:
    """Reads the folder of one rank, only the segments and columns that are needed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._spans: dict[tuple[str, int], Bounds] = {}
        # for who reads on within the segment that was read last
        self._read_closed = functools.lru_cache(1)(read_segment)

    def raw(self, table: str, columns: Wanted, bounds: Bounds) -> Iterator[Pieces]:
        """Yield raw rows of the steps in ``bounds``."""
        for _, part in self._between(table, bounds, ["id"], [*columns]):
            layers = {name: _layers(part, [name]) for name in columns}
            yield from pieces_from(*identity_of(part), layers)

    def rolled(
        self, table: str, columns: Wanted, span: int, bounds: Bounds
    ) -> Iterator[Pieces]:
        """Yield roll-ups whose windows begin in ``bounds``."""
        wanted = {
            name: [f"{name}_{end}" for end in (*parts, "nonfinite", "count")]
            for name, parts in columns.items()
        }
        further = [*itertools.chain.from_iterable(wanted.values())]
        for _, found in self._between(f"rollup{span}-{table}", bounds, ["id"], further):
            layers = {}
            for name, names in wanted.items():
                *values, count = _layers(found, names)[0]
                layers[name] = values, count > 0
            yield from pieces_from(*identity_of(found), layers)

    def ledger(self, step: int) -> list[LedgerEntry]:
        """Return the operations of ``step``."""
        entries, needed = [], ["index", "op", "target", "detail"]
        for path, part in self._between("ledger", (step, step + 1), needed):
            for row in part.to_pylist():
                with LeftOut(path):
                    entries.append(ledger_entry(row))
        return entries

    def _span_of(self, name: str, number: int) -> Bounds | None:
        """Return the steps of a closed segment, which stay what they are."""
        key = name, number
        if key not in self._spans:
            schema = file_schema(segment_path(self.folder, *key))
            span = steps_of(schema or pa.schema([]))
            if span is None:
                return None
            self._spans[key] = span
        return self._spans[key]

    def _between(
        self,
        name: str,
        bounds: Bounds,
        needed: Sequence[str],
        further: Sequence[str] = (),
    ) -> Iterator[tuple[Path, pa.Table]]:
        start, stop = bounds
        for number in segment_numbers(self.folder, name):
            span = self._span_of(name, number)
            first, last = span or bounds
            if last < start or first >= stop:
                continue
            path = segment_path(self.folder, name, number)
            read = self._read_closed if span else read_segment
            try:
                table = read(path, ("step", *needed, *further))
            except FileNotFoundError:  # thinned since the folder was listed
                continue
            # One that was torn before its first batch has no columns.
            if not {"step", *needed} <= set(table.column_names):
                continue
            steps = values_of(table.column("step"))
            inside = (steps >= start) & (steps < stop)
            at = np.flatnonzero(inside)
            if len(at) and at[-1] - at[0] < len(at):
                yield path, table.slice(at[0], len(at))
            elif len(at):
                yield path, table.filter(array_of(inside))


def _layers(table: pa.Table, names: list[str]) -> tuple[list[np.ndarray], np.ndarray]:
    """Return columns, and where the last of them is known."""
    blank, there = np.full(table.num_rows, np.nan, np.float32), table.column_names
    layers = [values_of(table.column(n)) if n in there else blank for n in names]
    last = names[-1] in there
    return layers, valid_of(table.column(names[-1])) if last else np.isfinite(blank)
