"""The rule DAT091, answers-that-are-none.

## What it does
Finds answers that are a missing value which became text, and answers that are reasoning
alone.

## Why is this bad?
They look like answers and are trained as such: the model learns to say `nan`, or to
think and stop.

## Evidence
`missing-value-as-answer`: whole answers such as `nan`, `None`, `null` or `#N/A`, where
0.9 of the others have more than 60 characters, of 20 at least (of short answers such a
word may be one), to a prompt that does not speak of values, code or spreadsheets.
`reasoning-never-closed`: an answer that begins with `<think>` and has no `</think>`.
`reasoning-without-answer`, `<think>` alone or `</think>` with nothing behind it, is how
such rows are made above 0.5, and not told. All from 0.001 of the rows; these bounds are
conventions of ours. In `rejected`, and where a label is false, reasoning without an
answer is a reason to reject it, and not told.
By hand: `collections.Counter(row["completion"] for row in rows).most_common(20)`.

## What to try
1. Leave these rows out: `report.filtered(path)`.
2. `frame.fillna("")` before `astype(str)`.

## Known problems
A missing value may be the right answer to a question about it.

## References
- pandas, `DataFrame.astype` (missing values become the text "nan")
- vllm-project/vllm#48865 (a reply without `</think>` becomes reasoning alone)
"""

from ftlab.rules.reading.dataset import RowRule
from ftlab.rules.reading.row_kind import Kind

KINDS = (
    Kind(
        "missing-value-as-answer",
        "a missing value that was written as an answer",
        "A missing answer became text: astype(str) writes nan, a spreadsheet #N/A.",
        "Leave these rows out; drop missing answers before they become text.",
        left_out=True,
    ),
    Kind(
        "reasoning-without-answer",
        "reasoning with no answer behind it",
        "The answer was cut by a limit behind its reasoning, or lost where the reply "
        "was divided: the model learns to think and to stop.",
        "Generate these answers anew with a higher max_new_tokens, or leave them out.",
        0.001,
        0.5,
        left_out=True,
    ),
    Kind(
        "reasoning-never-closed",
        "reasoning whose end mark is missing",
        "The mark behind the reasoning was lost, and the answer stands in it; or a "
        "limit cut the answer while its writer was still thinking. The model learns "
        "not to close its reasoning.",
        "Where an answer stands at the end, write the mark (</think>) before it; "
        "generate the others anew with a higher max_new_tokens, or leave them out.",
        left_out=True,
    ),
)
"""The kinds of faults, each with the share of rows from which on it is a warning."""


class AnswersThatAreNone(RowRule):
    """Finds answers that say nothing."""

    code = "DAT091"
    name = "answers-that-are-none"
    since = "0.1.0"
    status = "preview"
    kinds = KINDS
