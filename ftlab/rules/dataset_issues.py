"""What a scan has found in a dataset, as all rules about rows judge it."""

import functools

from ftlab.records.data_scan import DataIssue
from ftlab.records.scanned_rows import ScannedRows
from ftlab.rules.reading.dataset import RowRule
from ftlab.rules.reading.row_kind import Kind
from ftlab.rules.registry import all_rules


@functools.cache
def row_rules() -> tuple[RowRule, ...]:
    """Return the rules about the rows of a dataset, by code."""
    return tuple(rule for rule in all_rules() if isinstance(rule, RowRule))


@functools.cache
def row_kinds() -> dict[str, Kind]:
    """Return all kinds of faults by name.

    Examples
    --------
    >>> from ftlab.rules.dataset_issues import row_kinds
    >>> row_kinds()["empty-answer"].says
    'an empty answer'
    """
    return {kind.name: kind for rule in row_rules() for kind in rule.kinds}


def issues_of(known: ScannedRows) -> tuple[DataIssue, ...]:
    """Return what the rows have, worst and most frequent first.

    Examples
    --------
    >>> from ftlab.records.scanned_rows import FoundRows, ScannedRows
    >>> from ftlab.rules.dataset_issues import issues_of
    >>> known = ScannedRows("rows", 50, found=(FoundRows("empty-answer", 1),))
    >>> [(issue.code, issue.severity.label) for issue in issues_of(known)]
    [('DAT058', 'warning')]
    """
    found = [issue for rule in row_rules() for _, issue in rule.issues(known)]
    return tuple(sorted(found, key=lambda each: (-each.severity, -each.share)))
