"""The rule DAT066, answer-given-away.

## What it does
Finds prompts in which the answer stands behind the same words in every row, and
completions that begin with their whole prompt.

## Why is this bad?
A label that can be read off the prompt is learnt at once, and is not there when the
model is used. A prompt that stands in the completion too is seen twice, and trained.

## Evidence
`label-in-prompt`: answers of up to 40 characters that follow the same words (`label: `,
`class=`) in 0.9 of the prompts that have these words, in 5 rows at least, with two
different answers at least. Where few classes occur the share is held against how often
the commonest class would be right by chance. An answer that is copied out of the text,
or stands among options, follows other words each time; where it ends a prompt behind
words that promise one (`Answer: `, `Label: `), the options before it do not matter.
`prompt-in-completion` from 0.1 of the rows; a single one may quote. The prompt ends as
a sentence does, or a line end follows it. A completion that is its prompt to the letter
is meant where 0.05 of the others are like their prompt (0.6 of its length, 0.5 of its
words), as corrected texts are. The bounds are conventions of ours.
By hand: `sum(row["completion"] in row["prompt"] for row in rows)`.

## What to try
1. Take the field out of the prompt.
2. `row["completion"].removeprefix(row["prompt"])`.

## Known problems
Completions that are rewritten prompts and begin alike.

## References
- Kaufman et al., "Leakage in Data Mining", TKDD 2012
"""

from ftlab.rules.reading.dataset import RowRule
from ftlab.rules.reading.row_kind import ALWAYS, Kind

KINDS = (
    Kind(
        "label-in-prompt",
        "the answer behind the same words of the prompt",
        "The column of the label was written into the prompt, most often with other "
        "data about the row: the model reads it off, and cannot when it is used.",
        "Take the field out of the prompt.",
        ALWAYS,
    ),
    Kind(
        "prompt-in-completion",
        "the whole prompt once more in the completion",
        "The completion column holds the whole text: the prompt is then seen twice. "
        "What is nothing but the prompt was filled in with it, or is the same column.",
        "row['completion'].removeprefix(row['prompt']); leave out the rows of which "
        "nothing is left.",
        0.1,
    ),
)
"""The kinds of faults, each with the share of rows from which on it is a warning."""


class AnswerGivenAway(RowRule):
    """Finds prompts that hold the answer, and answers that hold the prompt."""

    code = "DAT066"
    name = "answer-given-away"
    since = "0.1.0"
    status = "preview"
    kinds = KINDS
