"""The rule DAT062, evaluation-rows-trained.

## What it does
Finds rows of the training that are in the evaluation data, to the letter or in other
spelling, rows that are almost the same, and prompts that are in both with different
answers.

## Why is this bad?
The evaluation then measures what was learnt by heart: it falls with the training loss,
and the best checkpoint is the one that has forgotten least.

## Evidence
Digests of all rows of both sets, and MinHash with a comparison of each pair. A warning
from 0.001 of the evaluation rows on where all words are the same (in other case, with
other spaces), a convention of ours. `almost-evaluation-row`: a Jaccard similarity from
0.8 to 1, from 0.05 of the evaluation rows: Lee et al. found that more than 4 % of the
validation rows of standard sets, which are used as they are, overlap with training.
Prompts with other answers from 0.01 of the rows, and not above 0.5, where all rows
share their prompts.
By hand: `set(map(str, train)) & set(map(str, test))`.

## What to try
1. Leave these rows out of the training: `report.filtered(path)`.
2. Split by groups of equal prompts, after copies were taken out.

## Known problems
Sets whose prompts are one instruction and whose answers are few classes share rows by
chance. Rows of one pattern, with other names and numbers, are almost the same.

## References
- Lee et al., "Deduplicating Training Data Makes Language Models Better", ACL 2022
"""

from ftlab.rules.reading.dataset import RowRule
from ftlab.rules.reading.row_kind import Kind

KINDS = (
    Kind(
        "leaked-evaluation-row",
        "rows of the evaluation data",
        "The data was split before its duplicates were taken out, or the files "
        "overlap: the evaluation measures what was learnt by heart.",
        "Leave these rows out of the training, or split by groups of equal prompts.",
        left_out=True,
    ),
    Kind(
        "almost-evaluation-row",
        "almost a row of the evaluation data",
        "The same text was written twice with other words, or corrected, and the data "
        "split afterwards.",
        "Look at some of them; leave them out where the evaluation is to tell what is "
        "new: report.filtered(path).",
        0.05,
        left_out=True,
    ),
    Kind(
        "leaked-evaluation-prompt",
        "a prompt of the evaluation data, with another answer",
        "Several answers to one prompt were split row by row.",
        "Split by groups of equal prompts.",
        0.01,
        0.5,
    ),
)
"""The kinds of faults, each with the share of rows from which on it is a warning."""


class EvaluationRowsTrained(RowRule):
    """Finds rows that stand in the evaluation data, too."""

    code = "DAT062"
    name = "evaluation-rows-trained"
    since = "0.1.0"
    status = "preview"
    kinds = KINDS
