"""What a scan of a dataset comes to, as an event of a run, and judged by the rules."""

import time

from ftlab.records.event import Event
from ftlab.records.finding import Finding
from ftlab.records.scanned_rows import ScannedRows
from ftlab.rules.dataset_issues import row_rules
from ftlab.rules.engine import Engine
from ftlab.runlog.run import Run

FIRST = 0
"""The step of what is known before a run, as of its facts."""


def dataset_event(known: ScannedRows) -> Event:
    """Return the line of a run's log that says what a scan has found.

    Examples
    --------
    >>> from ftlab.records.scanned_rows import ScannedRows
    >>> from ftlab.session.data_findings import dataset_event
    >>> dataset_event(ScannedRows("rows.jsonl", 7)).message
    '7 rows of rows.jsonl were looked at'
    """
    words = f"{known.rows:,} rows of {known.name} were looked at"
    return Event("dataset", FIRST, time.time(), words, known.as_json())


def findings_of(known: ScannedRows) -> tuple[Finding, ...]:
    """Return what the rules about rows find, worst first."""
    run = Run()
    run.append(dataset_event(known))
    return Engine(row_rules()).check(run).findings
