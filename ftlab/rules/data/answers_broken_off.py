"""The rule DAT059, answers-broken-off.

## What it does
Finds answers that end in the middle of a sentence, of JSON or of a block of code, that
were cut at one number of tokens, characters or words, and texts that lack the end mark
of most others.

## Why is this bad?
What is trained behind such a text is an end that is none: the model learns to stop
anywhere, or where its teacher's `max_new_tokens` was.

## Evidence
A look at every row. `unfinished-answer`: 60 characters or more that end with an open
bracket, a comma behind a long line, an English word that no sentence ends with (`the`,
`and`), or an open fence; or JSON whose one fault is that it ends. From 0.01 of the
rows, and not above 0.5, where it is the style. `answer-of-cut-length`: the longest 1 %
of the lengths holds 5 times as many answers as other long ones, 60 % of them break off,
and the others do so half as often at most; or one length within, of half of the answers
at most, has 10 times as many as the lengths around it, a tenth shorter and longer.
`missing-end-mark`: rows that do not end with a special token, where most do. Shares of
0.001 and 0.01 are conventions of ours. What breaks off in `rejected`, or where a label
is false, has a reason to be there, and is not told.

## What to try
1. Generate these answers anew with a higher `max_new_tokens`.
2. Leave them out: `report.filtered(path, drop=["unfinished-answer"])`.

## Known problems
Answers that are lists without full stops are told by their last word or bracket alone.

## References
- huggingface/trl#1623 (models that never end, or end anywhere)
"""

from ftlab.rules.reading.dataset import RowRule
from ftlab.rules.reading.row_kind import Kind

KINDS = (
    Kind(
        "unfinished-answer",
        "an answer that breaks off",
        "The answer was cut by a limit where it was generated or stored: a model "
        "trained on it learns to stop anywhere.",
        "Generate these answers anew with a higher max_new_tokens, or leave them out.",
        0.01,
        0.5,
    ),
    Kind(
        "answer-of-cut-length",
        "an answer that breaks off at the same length as others",
        "These answers were generated up to one number of tokens (max_new_tokens), or "
        "stored up to one number of characters or words, and cut there: a model "
        "trained on them learns to stop anywhere.",
        "Generate or export them anew with a higher limit, or leave them out.",
    ),
    Kind(
        "missing-end-mark",
        "no end mark, with which most of the others end",
        "Rows from another source, or cut off: where the end mark is missing, no end "
        "is learnt.",
        "Append the mark to these texts.",
    ),
)
"""The kinds of faults, each with the share of rows from which on it is a warning."""


class AnswersBrokenOff(RowRule):
    """Finds answers that break off, and texts without the others' end."""

    code = "DAT059"
    name = "answers-broken-off"
    since = "0.1.0"
    status = "preview"
    kinds = KINDS
