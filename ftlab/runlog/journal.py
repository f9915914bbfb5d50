"""What a run holds besides its tables: names, facts, events, ledger, evaluations."""

from collections import OrderedDict
from collections.abc import Hashable

from ftlab.records.event import Event
from ftlab.records.facts import Facts
from ftlab.records.finding import Finding
from ftlab.records.names import NameRecord
from ftlab.records.step import Evaluation, LedgerEntry
from ftlab.runlog.codec import event_finding, merged

LEDGER_STEPS = 1024
"""Steps whose order of operations is kept in memory."""

Findings = dict[Hashable, Finding]


class Journal:
    """Lists that only grow, and the ledger's window. One thread appends."""

    def __init__(self) -> None:
        self.names: dict[str, list[NameRecord]] = {}
        self.facts: list[Facts] = []
        self.events: list[Event] = []
        self.evaluations: list[Evaluation] = []
        self.findings: Findings = {}
        self.ledger: OrderedDict[int, tuple[LedgerEntry, ...]] = OrderedDict()

    def add_name(self, record: NameRecord) -> None:
        """Add a name, or what has changed about one."""
        self.names.setdefault(record.table, []).append(record)

    def names_until(self, table: str, stop: int | None) -> dict[int, NameRecord]:
        """Return the latest name of each row before the step ``stop``, by id."""
        return {
            record.id: record
            for record in tuple(self.names.get(table, ()))
            if stop is None or record.since_step < stop
        }

    def facts_until(self, stop: int | None) -> list[Facts]:
        """Return the facts before the step ``stop``, in order."""
        facts = tuple(self.facts)
        return [entry for entry in facts if stop is None or entry.step < stop]

    def add_event(self, event: Event) -> None:
        """Add an event; a finding that was seen before is merged."""
        if event.kind == "finding":
            merge_finding(self.findings, event)
        self.events.append(event)

    def add_ledger(self, entry: LedgerEntry) -> None:
        """Add an operation to its step."""
        self.ledger[entry.step] = (*self.ledger.get(entry.step, ()), entry)
        while len(self.ledger) > LEDGER_STEPS:
            self.ledger.popitem(last=False)


def merge_finding(findings: Findings, event: Event) -> None:
    """Put the finding of ``event`` under its key."""
    finding = event_finding(event)
    findings[finding.key] = merged(findings.get(finding.key), finding)
