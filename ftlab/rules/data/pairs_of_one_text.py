"""The rule DAT067, pairs-of-one-text.

## What it does
Finds rows of a preference dataset whose chosen and rejected texts are the same.

## Why is this bad?
The two sides cancel: nothing can be preferred, and the margin of the row is 0 for ever.

## Evidence
The texts of both sides, row by row. From 0.001 of the rows on, a convention of ours.
In a run DAT013 sees the same in the batches.
By hand: `sum(row["chosen"] == row["rejected"] for row in rows)`.

## What to try
1. Leave these rows out: `report.filtered(path)`.
2. Sample the second answer with another seed or a higher temperature.

## Known problems
None is known: pairs of equal texts have no use.

## References
- Rafailov et al., "Direct Preference Optimization", NeurIPS 2023, equation 7
"""

from ftlab.rules.reading.dataset import RowRule
from ftlab.rules.reading.row_kind import Kind

KINDS = (
    Kind(
        "equal-pair",
        "the same text as chosen and as rejected",
        "The pair was made of one answer: nothing can be preferred.",
        "Leave these rows out.",
        left_out=True,
    ),
)
"""The kinds of faults, each with the share of rows from which on it is a warning."""


class PairsOfOneText(RowRule):
    """Finds preference pairs of which both sides are one text."""

    code = "DAT067"
    name = "pairs-of-one-text"
    since = "0.1.0"
    status = "preview"
    kinds = KINDS
