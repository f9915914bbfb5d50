"""All files of one rank, and the order in which a commit writes them."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ftlab.records.event import Event
from ftlab.records.step import Block, Column, Evaluation, LedgerEntry, StepRecord
from ftlab.runlog import batches
from ftlab.runlog.chunk import Rows, rows_of
from ftlab.runlog.codec import dumps
from ftlab.runlog.disk import replace
from ftlab.runlog.gather import gather
from ftlab.runlog.lines import LineFile
from ftlab.runlog.rolling import Rolling
from ftlab.runlog.rollup import Window
from ftlab.runlog.schema import OTHER_TABLES, VERSION
from ftlab.runlog.segment import Limits, Segments
from ftlab.runlog.sheet import Build, Sheet
from ftlab.runlog.thinning import Thinning


class RankFiles:
    """Queues of records, and the files that they go to."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        self.folder, self.limits = folder, limits
        self.steps: list[StepRecord] = []
        self.ledger: list[LedgerEntry] = []
        self.evaluations: list[Evaluation] = []
        self.names = LineFile(folder / "names.jsonl")
        self._events = LineFile(folder / "events.jsonl")
        self._changes: LineFile | None = None
        self._facts: list[dict[str, Any]] = []
        self._rows: dict[tuple[str, int], list[Rows]] = {}
        self._sheets: dict[str, Sheet] = {}
        self._declared: dict[str, dict[str, Column]] = {}
        self._rolling: dict[str, Rolling] = {}
        self._thinning = Thinning(limits.disk_budget)

    def declare(self, table: str, columns: Iterable[Column]) -> None:
        """Remember the declarations of columns."""
        declared = self._declared.setdefault(table, {})
        declared.update({column.name: column for column in columns})

    def add_block(self, block: Block) -> None:
        """Queue a block; blocks of one table and step become one batch."""
        rows = rows_of(block)
        self._rows.setdefault((rows.table, rows.step), []).append(rows)

    def add_facts(self, facts: dict[str, Any]) -> None:
        """Queue facts: the first go to ``facts.json``, later ones become lines."""
        self._facts.append(facts)

    def add_event(self, event: Event, value: dict[str, Any]) -> None:
        """Queue an event; raw rows around a finding are never thinned."""
        self._events.add(value)
        if event.kind == "finding":
            self._thinning.protect(event.detail["first_step"])
            self._thinning.protect(event.detail["last_step"])

    def commit(self) -> None:
        """Write everything queued; the rows of the steps come last."""
        self.names.flush()
        self._flush_facts()
        rows, self._rows = self._rows, {}
        tables: dict[str, list[Rows]] = {}
        for parts in rows.values():
            joined = gather(parts)
            tables.setdefault(joined.table, []).append(joined)
        for table, parts in tables.items():
            self._queue_rows(table, parts)
        self._queue_lists()
        self._events.flush()
        full = [sheet.segments for sheet in self._sheets.values()]
        full = [segments for segments in full if segments.flush()]
        if self.steps and self._flush_steps():
            full.append(self._sheets["steps"].segments)
        for segments in full:
            segments.seal()

    def _queue_rows(self, table: str, parts: list[Rows]) -> None:
        sheet = self._sheet(
            table,
            lambda names: batches.rows_schema(table, self._described(table, names)),
        )
        names = dict.fromkeys(name for rows in parts for name in rows.values)
        sheet.add(names, lambda schema: batches.rows_batch(parts, schema))
        rolling = self._rolling.setdefault(table, Rolling(table))
        for window in (each for rows in parts for each in rolling.add(rows)):
            self._queue_window(table, window)

    def _queue_window(self, table: str, window: Window) -> None:
        sheet = self._sheet(
            f"rollup{window.span}-{table}",
            lambda names: batches.windows_schema(
                table, window.span, self._described(table, names)
            ),
        )
        sheet.add(window.columns, lambda schema: batches.window_batch(window, schema))

    def _queue_lists(self) -> None:
        if self.ledger:
            entries, self.ledger[:] = self.ledger.copy(), []
            sheet = self._sheet("ledger", lambda _: batches.LEDGER_SCHEMA)
            sheet.add((), lambda _: batches.ledger_batch(entries))
        if self.evaluations:
            results, self.evaluations[:] = self.evaluations.copy(), []
            sheet = self._sheet("eval", lambda _: batches.EVALUATION_SCHEMA)
            sheet.add((), lambda _: batches.evaluation_batch(results))

    def _flush_steps(self) -> bool:
        records, self.steps[:] = self.steps.copy(), []
        sheet = self._sheet(
            "steps",
            lambda names: batches.steps_schema(self._described("steps", names)),
        )
        names = dict.fromkeys(name for record in records for name in record.values)
        sheet.add(names, lambda schema: batches.steps_batch(records, schema))
        return sheet.segments.flush()

    def _sheet(self, name: str, build: Build) -> Sheet:
        sheet = self._sheets.get(name)
        if sheet is None:
            raw = name not in OTHER_TABLES and not name.startswith("rollup")
            on_seal = self._thinning.sealed if raw else None
            segments = Segments(self.folder, name, self.limits, on_seal)
            sheet = self._sheets[name] = Sheet(segments, build)
        return sheet

    def _described(self, table: str, names: Iterable[str]) -> list[Column]:
        return batches.describe(table, names, self._declared.get(table, {}))

    def _flush_facts(self) -> None:
        facts, self._facts = self._facts, []
        for entry in facts:
            if self._changes is None:
                text = dumps({"schema": VERSION, **entry})
                replace(self.folder / "facts.json", text.encode() + b"\n")
                self._changes = LineFile(self.folder / "facts-changes.jsonl")
            else:
                self._changes.add(entry)
                self._changes.flush()

    def close(self) -> None:
        """Finish the roll-ups, close all segments and sync everything to disk."""
        for table, rolling in self._rolling.items():
            for window in rolling.rest():
                self._queue_window(table, window)
        for sheet in self._sheets.values():
            sheet.segments.seal()
        for lines in self._line_files():
            lines.sync()
        self.release()

    def _line_files(self) -> list[LineFile]:
        files = [self.names, self._events]
        return files if self._changes is None else [*files, self._changes]

    def release(self) -> None:
        """Let go of all files, as they are."""
        for sheet in self._sheets.values():
            sheet.segments.release()
        for lines in self._line_files():
            lines.release()
