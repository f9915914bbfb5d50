"""The rule DAT058, rows-without-answer.

## What it does
Finds rows of a dataset with an empty answer or question, with no text, or that end with
a question.

## Why is this bad?
Of a row with an empty answer only the end is trained: the model learns to say nothing.
A row that ends with a question trains on the question, or on nothing.

## Evidence
A look at every row. `empty-answer`, of a column `solution` `empty-solution`, from 0.001
of the rows, `question-without-answer` from 0.01; these shares are conventions of ours
and no measurement: a few odd rows of many end no pipeline, and are told as a note. A
prompt that speaks of nothing, of what is blank or empty gets an empty answer. Where
more than 0.5 of the conversations end with a question, they are prompts (of GRPO, of
generation), and nothing is told. `empty-prompt` from 0.001; above 0.1 prompts are left
empty on purpose, to teach texts without one. `empty-text` is always a note: files of
plain text have blank lines.

## What to try
1. Mend the export; or leave these rows out: `report.filtered(path)`.
2. Write what is meant by saying nothing.

## Known problems
Calls of tools and pictures are answers, with an empty content; reasoning in a field of
its own is none.

## References
- tatsu-lab/stanford_alpaca#265, TIGER-AI-Lab/MAmmoTH#36
- vllm-project/vllm#48865 (a reply without `</think>` becomes reasoning alone)
"""

from ftlab.rules.reading.dataset import RowRule
from ftlab.rules.reading.row_kind import NEVER, Kind

KINDS = (
    Kind(
        "empty-answer",
        "an empty answer",
        "An export has lost the answers: all that such a row teaches is to end at "
        "once.",
        "Leave these rows out, or write what is meant by saying nothing.",
        left_out=True,
    ),
    Kind(
        "empty-solution",
        "an empty solution",
        "An export has lost the solutions: a reward has nothing to compare answers "
        "with; where solutions are trained, the model learns to say nothing.",
        "Leave these rows out, or mend the export.",
        left_out=True,
    ),
    Kind(
        "empty-text",
        "an empty text",
        "Blank lines of a file were taken for rows, or an export has lost them.",
        "Leave these rows out.",
        NEVER,
        left_out=True,
    ),
    Kind(
        "empty-prompt",
        "an empty prompt",
        "An export has lost the questions: an answer to nothing is learnt.",
        "Leave these rows out, or mend the export.",
        0.001,
        0.1,
    ),
    Kind(
        "question-without-answer",
        "a question at the end, and no answer",
        "The conversation was cut off, or its last message is a question.",
        "Cut these conversations behind their last answer, or leave them out.",
        0.01,
        0.5,
        left_out=True,
    ),
)
"""The kinds of faults, each with the share of rows from which on it is a warning."""


class RowsWithoutAnswer(RowRule):
    """Finds rows that hold no answer or question, or no text at all."""

    code = "DAT058"
    name = "rows-without-answer"
    since = "0.1.0"
    status = "preview"
    kinds = KINDS
