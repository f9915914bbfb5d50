"""The rule DAT067, pairs-of-one-text.

## What it does
Finds rows whose chosen and rejected texts, or positive and negative ones, are the same,
and preference rows whose two sides answer different prompts.

## Why is this bad?
Two sides that are the same cancel: nothing can be preferred, and the margin of the row
is 0 for ever. Answers to different prompts cannot be compared either: a training that
takes what both begin with for the prompt finds none, and one that takes the prompt of
the chosen side judges an answer to another question.

## Evidence
The texts of both sides, row by row, of embeddings without the white space around them;
`pair-of-two-prompts`: the first message, of the
system's apart, in which both differ, is a user's on both sides, whatever the spaces.
Both from 0.001 of the rows on, a convention of ours. In a run DAT013 sees equal sides
in the batches.
By hand: `sum(row["chosen"] == row["rejected"] for row in rows)`.

## What to try
1. Leave these rows out: `report.filtered(path)`.
2. Join both sides by the id of their prompt, not by the order of rows.
3. Sample the second answer with another seed or a higher temperature; of negatives
   that were mined, leave out the positives first.

## Known problems
Pairs of one answer to two wordings of a prompt, for a training of one's own.

## References
- Rafailov et al., "Direct Preference Optimization", NeurIPS 2023, equation 7
- huggingface/trl, `trl.data_utils.extract_prompt` (what both sides begin with)
"""

from ftlab.rules.reading.dataset import RowRule
from ftlab.rules.reading.row_kind import Kind

KINDS = (
    Kind(
        "equal-pair",
        "the same text as what is wanted and what is not",
        "The pair was made of one answer: nothing can be preferred.",
        "Leave these rows out.",
        left_out=True,
    ),
    Kind(
        "pair-of-two-prompts",
        "chosen and rejected that answer different prompts",
        "The two sides were joined by the order of rows, and one was in another order.",
        "Join them by their prompt, or leave these rows out: report.filtered(path).",
        left_out=True,
    ),
)
"""The kinds of faults, each with the share of rows from which on it is a warning."""


class PairsOfOneText(RowRule):
    """Finds preference pairs of one text, or of two prompts."""

    code = "DAT067"
    name = "pairs-of-one-text"
    since = "0.1.0"
    status = "preview"
    kinds = KINDS
