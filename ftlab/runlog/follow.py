"""Reads a run's folder into a run, once or again and again while it grows.

Who calls whom: `Follower.refresh` asks the tails of all files for what is new and
appends it to the run; a `SegmentsTail` goes from one segment of a table to the next.
"""

import os
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ftlab.records.errors import SchemaError
from ftlab.records.facts import Facts
from ftlab.records.plain_files import open_file
from ftlab.runlog import decode
from ftlab.runlog.arrow import array_of, values_of
from ftlab.runlog.chunk import Rows
from ftlab.runlog.codec import event_from_json, from_json, loads
from ftlab.runlog.disk import LeftOut, name_damage
from ftlab.runlog.folder import check_version, rank_folder, read_meta
from ftlab.runlog.journal import LEDGER_STEPS
from ftlab.runlog.lines import LineTail
from ftlab.runlog.loading import begin_ledger, begin_raw, raw_tables, windows
from ftlab.runlog.run import Run
from ftlab.runlog.segments_tail import SegmentsTail
from ftlab.runlog.steps import StepRows


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
        self._lines = [
            LineTail(self.folder / f"{name}.jsonl")
            for name in ("names", "facts-changes", "events")
        ]
        self._held: dict[Path, list[Rows]] = {}
        self._last = -1
        self._facts_read = False
        self._meta_time = 0

    def load(self) -> None:
        """Read the folder for the first time: roll-ups, and raw rows from the end."""
        self._ledger.number = begin_ledger(self.folder)
        for table in raw_tables(self.folder):
            rolled = windows(self.folder, table, self.budget // 4)
            for window in rolled:
                self.run.append((table, window))
            first = begin_raw(self.folder, table, self.budget // 4, rolled)
            self._tables[table] = SegmentsTail(self.folder, table, first)
        self.refresh()

    def refresh(self) -> bool:
        """Append what is new; return whether there was anything.

        The rows of the steps are read first and appended last: whatever they stand for
        was written before them.
        """
        with self._lock:
            before = self.run.version
            steps = self._steps.read()
            self._read_lines()
            for _, table in steps:
                if "step" in table.column_names:
                    last = values_of(table.column("step")).max(initial=self._last)
                    self._last = int(last)
            self._read_tables()
            for path, table in steps:
                if "step" not in table.column_names:
                    continue
                with LeftOut(path):
                    self._append_steps(path, decode.step_rows(table))
            return self._read_meta() or self.run.version != before

    def _read_tables(self) -> None:
        for name in raw_tables(self.folder):
            tail = self._tables.setdefault(name, SegmentsTail(self.folder, name))
            for path, table in tail.read():
                with LeftOut(path):
                    rows = list(decode.rows_from(name, table))
                    self._held.setdefault(path, []).extend(rows)
        self._append_rows()
        for path, table in self._ledger.read():
            with LeftOut(path):
                self._append(path, decode.ledger_entry, _latest(table).to_pylist())
        for path, table in self._results.read():
            with LeftOut(path):
                results = decode.evaluations_from(table.to_pylist())
                self._append(path, _as_it_is, list(results))

    def _append_steps(self, path: Path, rows: StepRows) -> None:
        """Append the rows of steps; those out of their order are left out."""
        there = self.run.steps.step
        good = rows.rising(int(there[-1]) if len(there) else -1)
        if not good.all():
            first = int(rows.step[int(np.argmin(good))])
            name_damage(path, f"rows out of order: {(~good).sum()}; step {first}")
        self.run.append(rows.only(good))

    def _append_rows(self) -> None:
        """Append rows up to the last step: later ones would be rolled up too early.

        Rows of a run that has logged no step, ever, are all appended.
        """
        held, self._held = self._held, {}
        for path, entries in held.items():
            known = [
                rows for rows in entries if rows.step <= self._last or self._last < 0
            ]
            self._append(path, _as_it_is, known)
            if later := [rows for rows in entries if rows.step > self._last >= 0]:
                self._held[path] = later

    def _read_lines(self) -> None:
        names, changes, events = self._lines
        self._append_lines(names, decode.name_record)
        file = self.folder / "facts.json"
        if not self._facts_read and os.path.lexists(file):
            self._facts_read = True
            self._append(file, _first_facts, [file])
        self._append_lines(changes, lambda value: from_json(Facts, value))
        self._append_lines(events, event_from_json)

    def _append_lines(self, tail: LineTail, read: Callable[[Any], Any]) -> None:
        with LeftOut(tail.path):
            self._append(tail.path, read, tail.read())

    def _append(
        self, file: Path, read: Callable[[Any], Any], values: Iterable[Any]
    ) -> None:
        """Append what ``read`` makes of ``values``; what is damaged is left out."""
        damage = []
        for value in values:
            try:
                self.run.append(read(value))
            except SchemaError:
                raise
            except Exception as error:  # noqa: BLE001  garbage may raise anything
                damage.append(f"{type(error).__name__}: {error}")
        if damage:
            name_damage(file, f"entries: {len(damage)}; {damage[0]}")

    def _read_meta(self) -> bool:
        file = self.path / "run.json"
        changed = file.stat().st_mtime_ns if file.exists() else 0
        if changed == self._meta_time:
            return False
        self._meta_time = changed
        self.run.update_meta(read_meta(self.path))
        return True


def _as_it_is(record: Any) -> Any:
    return record


def _first_facts(file: Path) -> Facts:
    with open_file(file) as opened:
        value = loads(opened.read())
    check_version(value, file)
    return from_json(Facts, {name: value[name] for name in value if name != "schema"})


def _latest(table: pa.Table) -> pa.Table:
    """Return the rows of the last steps: no run keeps more of its ledger."""
    steps = values_of(table.column("step"))
    if not len(steps) or steps[0] > steps[-1] - LEDGER_STEPS:
        return table
    return table.filter(array_of(steps > steps[-1] - LEDGER_STEPS))
