"""Reads a run's folder into a run, once or again and again while it grows.

Who calls whom: `Follower.refresh` asks the tails of all files for what is new and
appends it to the run; a `SegmentsTail` goes from one segment of a table to the next.
"""

import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from ftlab.records.errors import FtlabWarning
from ftlab.records.facts import Facts
from ftlab.runlog import decode
from ftlab.runlog.chunk import Rows
from ftlab.runlog.codec import (
    event_from_json,
    facts_from_json,
    loads,
    name_from_json,
)
from ftlab.runlog.folder import check_version, rank_folder, read_meta
from ftlab.runlog.journal import LEDGER_STEPS
from ftlab.runlog.lines import LineTail
from ftlab.runlog.loading import begin_ledger, begin_raw, raw_tables, windows
from ftlab.runlog.run import Run
from ftlab.runlog.segments_tail import SegmentsTail


class Follower:
    """Appends to ``run`` what its folder has got."""

    def __init__(self, run: Run, path: Path, budget: int) -> None:
        self.run, self.path = run, path
        self.folder = rank_folder(path, run.rank)
        self.budget = budget
        self._lock = threading.Lock()
        self._steps = SegmentsTail(self.folder, "steps")
        self._results = SegmentsTail(self.folder, "eval")
        self._ledger = SegmentsTail(self.folder, "ledger")
        self._tables: dict[str, SegmentsTail] = {}
        self._names = LineTail(self.folder / "names.jsonl")
        self._events = LineTail(self.folder / "events.jsonl")
        self._changes = LineTail(self.folder / "facts-changes.jsonl")
        self._held: list[Rows] = []
        self._last = -1
        self._facts_read = False
        self._meta_time = 0

    def load(self) -> None:
        """Read the folder for the first time: roll-ups, and raw rows from the end."""
        self._ledger.number = begin_ledger(self.folder)
        for table in raw_tables(self.folder):
            for window in windows(self.folder, table):
                self.run.append((table, window))
            first = begin_raw(self.folder, table, self.budget)
            self._tables[table] = SegmentsTail(self.folder, table, first)
        self.refresh()

    def refresh(self) -> bool:
        """Append what is new; return whether there was anything.

        The rows of the steps are read first and appended last: whatever they stand for
        was written before them.
        """
        with self._lock:
            before = self.run.version
            steps = [
                record
                for table in self._steps.read()
                for record in decode.step_records(table)
            ]
            self._read_lines()
            self._last = steps[-1].step if steps else self._last
            self._read_tables()
            for record in steps:
                self.run.append(record)
            return self._read_meta() or self.run.version != before

    def _read_tables(self) -> None:
        for name in raw_tables(self.folder):
            tail = self._tables.setdefault(name, SegmentsTail(self.folder, name))
            for table in tail.read():
                self._held += decode.rows_from(name, table)
        self._append_rows()
        for table in self._ledger.read():
            for entry in decode.ledger_entries(_latest(table)):
                self.run.append(entry)
        for table in self._results.read():
            for result in decode.evaluations_from(table):
                self.run.append(result)

    def _append_rows(self) -> None:
        """Append rows up to the last step: later ones would be rolled up too early.

        Rows of a run that has logged no step, ever, are all appended.
        """
        held, self._held = self._held, []
        for rows in held:
            if rows.step <= self._last or self._last < 0:
                self.run.append(rows)
            else:
                self._held.append(rows)

    def _read_lines(self) -> None:
        self._append(self._names.path, name_from_json, self._lines(self._names))
        file = self.folder / "facts.json"
        if not self._facts_read and file.is_file():
            self._facts_read = True
            self._append(file, _first_facts, [file])
        changes = self._lines(self._changes)
        self._append(self._changes.path, facts_from_json, changes)
        self._append(self._events.path, event_from_json, self._lines(self._events))

    def _append(
        self, file: Path, read: Callable[[Any], Any], values: Iterable[Any]
    ) -> None:
        """Append what ``read`` makes of ``values``; what is damaged is left out."""
        for value in values:
            try:
                record = read(value)
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                msg = (
                    f"{str(file)!r} is damaged, and a part of it was left out "
                    f"({type(error).__name__}: {error})."
                )
                warnings.warn(msg, FtlabWarning, stacklevel=2)
            else:
                self.run.append(record)

    def _lines(self, tail: LineTail) -> Iterator[dict[str, object]]:
        lines = tail.read()
        check_version(tail.header or {}, tail.path)
        yield from lines

    def _read_meta(self) -> bool:
        file = self.path / "run.json"
        changed = file.stat().st_mtime_ns if file.exists() else 0
        if changed == self._meta_time:
            return False
        self._meta_time = changed
        self.run.update_meta(read_meta(self.path))
        return True


def _first_facts(file: Path) -> Facts:
    value = loads(file.read_bytes())
    check_version(value, file)
    return facts_from_json(
        {key: each for key, each in value.items() if key != "schema"}
    )


def _latest(table: pa.Table) -> pa.Table:
    """Return the rows of the last steps: no run keeps more of its ledger."""
    steps = table.column("step").to_numpy()
    if not len(steps) or steps[0] > steps[-1] - LEDGER_STEPS:
        return table
    return table.filter(pa.array(steps > steps[-1] - LEDGER_STEPS))
