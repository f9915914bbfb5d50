"""The rule DAT096, pairs-turned-round.

## What it does
Finds preferences whose chosen text was given a lower score than the rejected one.

## Why is this bad?
The row teaches to prefer the worse answer, as strongly as any other teaches the better.

## Evidence
The columns `score_chosen` and `score_rejected`, `chosen_score`, `chosen-rating` and the
like. From 0.01 of the pairs a warning, a convention of ours: of many pairs a few are
always doubtful. Where more than 0.2 are so, also a convention of ours, the score is
another judge's than the one who chose, or the less the better, and nothing is told.
By hand: `sum(row["score_chosen"] < row["score_rejected"] for row in rows)`.

## What to try
1. Exchange the two texts of these rows, after a look at some of them.
2. Leave out pairs whose scores are as good as the same.

## Known problems
Scores of which less is better, such as a loss, in a column with such a name. Pairs that
are all turned round.

## References
- Rafailov et al., "Direct Preference Optimization", NeurIPS 2023: what a pair teaches
"""

from ftlab.rules.reading.dataset import RowRule
from ftlab.rules.reading.row_kind import Kind

KINDS = (
    Kind(
        "pair-turned-round",
        "a chosen text with a lower score than the rejected one",
        "The two sides were exchanged, or sorted the wrong way round.",
        "Exchange chosen and rejected in these rows.",
        0.01,
        0.2,
        among=("preference",),
    ),
)
"""The kinds of faults, each with the share of rows from which on it is a warning."""


class PairsTurnedRound(RowRule):
    """Finds preference pairs whose scores say the opposite."""

    code = "DAT096"
    name = "pairs-turned-round"
    since = "0.1.0"
    status = "preview"
    kinds = KINDS
