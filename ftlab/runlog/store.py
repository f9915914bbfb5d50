"""What a run and its windows share, and what a folder can add to it."""

import threading
from collections.abc import Callable
from typing import Any, Protocol

from ftlab.records.errors import UnknownNameError
from ftlab.records.event import Event
from ftlab.records.facts import Facts
from ftlab.records.names import NameRecord
from ftlab.records.near import near
from ftlab.records.step import Block, Evaluation, LedgerEntry, StepRecord
from ftlab.runlog.blocks import BlockTable, Source
from ftlab.runlog.chunk import Rows, rows_of
from ftlab.runlog.journal import Journal
from ftlab.runlog.rollup import Window
from ftlab.runlog.schema import TABLES
from ftlab.runlog.steps import StepColumns, StepRows

Record = StepRecord | Block | NameRecord | LedgerEntry | Evaluation | Facts | Event
Stored = Record | Rows | StepRows | tuple[str, Window]
"""What a run takes: records, and what a folder keeps instead of them."""
BUDGET = 64 * 2**20
"""Bytes of block tables that a run keeps in memory by default."""


class Archive(Source, Protocol):
    """The run's folder, asked for what memory no longer holds."""

    def ledger(self, step: int) -> list[LedgerEntry]:
        """Return the operations of ``step``."""


class Store:
    """What a run and its windows share."""

    def __init__(self, budget: int) -> None:
        self.lock = threading.Lock()
        self.budget = budget
        self.version = 0
        self.late = 0
        self.steps = StepColumns()
        self.tables: dict[str, BlockTable] = {}
        self.journal = Journal()
        self.archive: Archive | None = None
        self.refresh: Callable[[], bool] = lambda: False
        self.meta: dict[str, Any] = {}

    @property
    def awaits_rows(self) -> bool:
        """Whether probes write to the run now: then each step is to get a row."""
        probes = self.meta.get("config", {}).get("probes")
        return bool(probes) and self.meta.get("ended") is None

    def table(self, name: str) -> BlockTable:
        """Return a table, a new one when there is none of that name."""
        found = self.tables.get(name)
        if found is None:
            found = self.tables[name] = BlockTable(name)
        return found

    def holds(self, column: str, table: str) -> BlockTable | None:
        """Return the table of a column, ``None`` where nothing of it was recorded.

        Raises
        ------
        UnknownNameError
            For a name that is neither recorded nor a standard one.
        """
        found = self.tables.get(table)
        if found is None and table not in TABLES:
            msg = (
                f"There is no table {table!r}; {near(table, {*self.tables, *TABLES})}."
            )
            raise UnknownNameError(msg)
        recorded = found.columns if found is not None else {}
        declared = TABLES.get(table, {})
        if column not in recorded and column not in declared:
            nearest = near(column, {*recorded, *declared})
            msg = f"Table {table!r} has no column {column!r}; {nearest}."
            raise UnknownNameError(msg)
        return found

    def add_block(self, block: Block) -> None:
        """Add rows to their table."""
        self.add_rows(rows_of(block))

    def add_ledger(self, entry: LedgerEntry) -> None:
        """Add an operation; one that comes when its step is complete is late."""
        self.journal.add_ledger(entry)
        steps = self.steps
        last = int(steps.step[steps.count - 1]) if steps.count else -1
        self.late += entry.step <= last

    def add_event(self, event: Event) -> None:
        """Add what was said; what is told of a step that never ended is late."""
        self.journal.add_event(event)
        self.late += bool(event.detail.get("unfinished"))

    def add_rows(self, rows: Rows) -> None:
        """Add rows of which it is known what was measured."""
        if self.table(rows.table).append(rows):
            self.shrink()

    def add_window(self, rolled: tuple[str, Window]) -> None:
        """Add a roll-up that was read from the folder."""
        self.table(rolled[0]).add_window(rolled[1])

    def shrink(self) -> None:
        """Forget the oldest raw rows until the tables fit into the budget."""
        while sum(table.nbytes for table in self.tables.values()) > self.budget:
            oldest = min(self.tables.values(), key=lambda table: table.oldest)
            if not oldest.shrink() and not any(
                table.shrink() for table in self.tables.values()
            ):
                return

    def adders(self) -> dict[type, Callable[[Any], None]]:
        """Return what adds a record of each type."""
        journal = self.journal
        return {
            StepRecord: self.steps.append,
            StepRows: self.steps.extend,
            Block: self.add_block,
            Rows: self.add_rows,
            tuple: self.add_window,
            NameRecord: journal.add_name,
            LedgerEntry: self.add_ledger,
            Evaluation: journal.evaluations.append,
            Facts: journal.facts.append,
            Event: self.add_event,
        }
