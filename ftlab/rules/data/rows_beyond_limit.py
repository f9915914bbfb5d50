"""The rule DAT068, rows-beyond-limit.

## What it does
Finds rows of which `max_length` cuts off the end, or the whole answer.

## Why is this bad?
With the end goes the token that ends the answer. Where the prompt alone is longer than
the limit, nothing is left to train on.

## Evidence
The length of each row as the chat template writes it, checked on the first rows against
the template itself, and `max_length`. `answer-cut-off` from 0.05 of the rows,
`answer-cut-away` from 0.01, `huge-row`, one whose tokens were estimated, from 0.001;
conventions of ours: a few long rows are cut in every training. `text-cut-off`, of texts
that no special token ends, is always a note: pre-training packs them, and loses none.
By hand: `len(tokenizer.apply_chat_template(row["messages"])) > max_length`.

## What to try
1. A higher `max_length`, shorter prompts.
2. Leave these rows out.

## Known problems
Trainings that pack rows by wrapping lose no tokens; their texts are split instead.

## References
- TRL, `SFTConfig.max_length`; transformers, `truncation=True`
"""

from ftlab.records.finding import Severity
from ftlab.rules.reading.dataset import RowRule
from ftlab.rules.reading.row_kind import Kind

KINDS = (
    Kind(
        "answer-cut-off",
        "an answer whose end is cut off by max_length",
        "A row is cut off behind max_length, with the token that ends the answer.",
        "A higher max_length, or leave these rows out.",
        0.05,
    ),
    Kind(
        "answer-cut-away",
        "an answer that max_length cuts away whole",
        "Where only answers are trained, nothing of such a row is left.",
        "A higher max_length, shorter prompts, or leave these rows out.",
        0.01,
    ),
    Kind(
        "text-cut-off",
        "a text that goes on behind max_length",
        "Without packing, what stands behind max_length is not read.",
        "Packing, or cut the text into parts.",
        severity=Severity.INFO,
    ),
    Kind(
        "huge-row",
        "a text so long that its tokens were estimated",
        "A whole file or a picture in text form, most often.",
        "Cut the text into parts, or leave the row out.",
    ),
)
"""The kinds of faults, each with the share of rows from which on it is a warning."""


class RowsBeyondLimit(RowRule):
    """Finds rows that are longer than the training takes."""

    code = "DAT068"
    name = "rows-beyond-limit"
    since = "0.1.0"
    status = "preview"
    kinds = KINDS
