"""What a run and its windows share, and what a folder can add to it."""

import threading
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from ftlab.records.event import Event
from ftlab.records.facts import Facts
from ftlab.records.names import NameRecord
from ftlab.records.step import Block, Evaluation, LedgerEntry, StepRecord
from ftlab.runlog.blocks import BlockTable, Source
from ftlab.runlog.journal import Journal
from ftlab.runlog.steps import StepColumns

Record = StepRecord | Block | NameRecord | LedgerEntry | Evaluation | Facts | Event
BUDGET = 64 * 2**20
"""Bytes of block tables that a run keeps in memory by default."""


class Growing(Protocol):
    """A run, seen by what adds records to it."""

    def append(self, record: Record) -> None:
        """Add a record."""

    def update_meta(self, values: Mapping[str, Any]) -> None:
        """Replace entries of the meta data."""


class Archive(Source, Protocol):
    """The run's folder, asked for what memory no longer holds and for what is new."""

    def ledger(self, step: int) -> list[LedgerEntry]:
        """Return the operations of ``step``."""

    def refresh(self, run: "Growing") -> bool:
        """Append what the folder has got since the last time."""


class Store:
    """What a run and its windows share."""

    def __init__(self, budget: int) -> None:
        self.lock = threading.Lock()
        self.budget = budget
        self.version = 0
        self.steps = StepColumns()
        self.tables: dict[str, BlockTable] = {}
        self.journal = Journal()
        self.archive: Archive | None = None
        self.meta: dict[str, Any] = {}

    def add_block(self, block: Block) -> None:
        """Add rows to their table."""
        table = self.tables.get(block.table)
        if table is None:
            table = self.tables[block.table] = BlockTable(block.table)
        if table.append(block):
            self.shrink()

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
            Block: self.add_block,
            NameRecord: journal.add_name,
            LedgerEntry: journal.add_ledger,
            Evaluation: journal.evaluations.append,
            Facts: journal.facts.append,
            Event: journal.add_event,
        }
