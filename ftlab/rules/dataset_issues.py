"""What a scan has found in a dataset, as all rules about rows judge it."""

import functools
import warnings

from ftlab.records.data_scan import DataIssue
from ftlab.records.errors import FtlabWarning, UnknownNameError
from ftlab.records.near import near
from ftlab.records.scanned_rows import ScannedRows
from ftlab.rules.reading.dataset import RowRule
from ftlab.rules.reading.row_kind import Kind
from ftlab.rules.registry import all_rules

RETIRED_KINDS = frozenset(
    {"answer-without-words", "looping-answer", "answer-said-again", "roles-exchanged"}
    | {"speaker-named-otherwise", "printed-letters", "dotted-i", "mixed-scripts"}
    | {"wrapped-answer", "python-as-json", "array-as-text", "date-for-number"}
    | {"json-broken", "html-entities", "html-tags", "file-in-text", "lost-indentation"}
    | {"page-around-text", "sheet-escapes", "merge-markers", "hyphenated-lines"}
    | {"mark-before-answer", "chatter-before-answer", "chat-page-words"}
    | {"citation-mark", "solution-in-prompt", "prompt-in-pair", "input-as-answer"}
    | {"placeholder-answer", "unfilled-field", "unfilled-prompt", "answer-in-reasoning"}
    | {"field-in-all-prompts", "missing-value-as-input", "error-as-answer"}
    | {"error-page-as-text", "answer-behind-mark", "model-named-in-answer"}
    | {"refusal-as-answer", "secret-in-text", "label-spelt-apart", "labels-contradict"}
    | {"answer-of-many", "verdict-as-text", "answer-of-no-choice", "sorted-by-label"}
    | {"tags-disagree", "tag-of-no-beginning", "answer-of-neighbour"}
    | {"answer-not-in-place", "sides-exchanged", "text-of-other-script"}
    | {"calculation-wrong"}
)
"""Kinds that are no longer looked for; a caller's list may still name them."""


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


def check_kind(kind: str) -> None:
    """Warn of a kind that is no longer looked for.

    Raises
    ------
    UnknownNameError
        There never was one of this name.
    """
    if kind in RETIRED_KINDS:
        msg = f"Nothing looks for {kind!r} any more: no row is found to have it."
        warnings.warn(msg, FtlabWarning, stacklevel=4)
    elif kind not in row_kinds():
        msg = f"There is no fault {kind!r}; {near(kind, row_kinds())}."
        raise UnknownNameError(msg)
