"""The rule DAT101, calculations-wrong.

## What it does
Finds answers in which a calculation has another result than it gives.

## Why is this bad?
The model is trained to write wrong results, and a calculator that fills them in at
generation gives other ones than those that the text goes on with.

## Evidence
Calculations between the marks of GSM8K, `<<3+4=7>>`, with numbers, brackets, the four
operators and `//`. Whole results must be exact; others may be rounded or cut off at the
last place that is written, and where the numbers are decimal ones, which may be rounded
themselves, 0.01 of the result is allowed. From 0.01 of the rows, a convention of ours:
people make a mistake now and then. A prompt that speaks of mistakes, of checking or of
what is correct may be answered by a wrong one, and `rejected` too.
By hand: `eval` what stands before the `=`, and compare.

## What to try
1. Leave these rows out: `report.filtered(path)`; or have them worked out anew.

## Known problems
Calculations in words, in LaTeX or without the marks are not looked at.

## References
- Cobbe et al., "Training Verifiers to Solve Math Word Problems", 2021 (the marks)
"""

from ftlab.rules.reading.dataset import RowRule
from ftlab.rules.reading.row_kind import Kind

KINDS = (
    Kind(
        "calculation-wrong",
        "a calculation with a wrong result",
        "The answer was made by a model, or its numbers were changed.",
        "Leave these rows out, or work the calculations out anew.",
        0.01,
        left_out=True,
    ),
)
"""The kinds of faults, each with the share of rows from which on it is a warning."""


class CalculationsWrong(RowRule):
    """Finds calculations whose written result is not what they give."""

    code = "DAT101"
    name = "calculations-wrong"
    since = "0.1.0"
    status = "preview"
    kinds = KINDS
