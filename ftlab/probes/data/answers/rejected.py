"""Answers that nobody is to learn: what is wrong with them is why they are rejected."""

from ftlab.probes.data.answers.answer_faults import is_answer
from ftlab.probes.data.rows.parts import Part, RowParts

REASONS = frozenset(
    {"looping-answer", "unfinished-answer", "answer-without-words", "unfilled-field"}
    | {"model-named-in-answer", "error-as-answer", "placeholder-answer"}
    | {"answer-behind-mark", "mark-before-answer", "next-turn-in-answer"}
    | {"reasoning-without-answer", "reasoning-never-closed", "calculation-wrong"}
    | {"error-page-as-text"}
)
"""Kinds of faults for which an answer may be rejected; one that is empty says nothing,
and what was lost on the way was no reason."""

SIDE = "rejected"


def is_reason(name: str, part: Part, row: RowParts) -> bool:
    """Tell whether a fault is why an answer is not wanted.

    Examples
    --------
    >>> from ftlab.probes.data.answers.rejected import is_reason
    >>> from ftlab.probes.data.rows.row_parts import parts_of
    >>> row = parts_of({"chosen": "Yes.", "rejected": "Yes Yes Yes"})
    >>> [is_reason("looping-answer", part, row) for part in row.parts]
    [False, True]
    """
    if name not in REASONS:
        return False
    return part.column == SIDE or (row.label is False and is_answer(part))


def last_wanted(row: RowParts) -> int:
    """Return the place of the last text that is not of a rejected side.

    Examples
    --------
    >>> from ftlab.probes.data.answers.rejected import last_wanted
    >>> from ftlab.probes.data.rows.row_parts import parts_of
    >>> last_wanted(parts_of({"chosen": "Yes.", "rejected": "No."}))
    0
    """
    at = len(row.parts) - 1
    while at > 0 and row.parts[at].column == SIDE:
        at -= 1
    return at
