"""The rule DAT061, rows-repeated.

## What it does
Finds rows that repeat an earlier one, or one of the evaluation data, to the letter or
nearly so, and prompts that are in training and evaluation with different answers.

## Why is this bad?
Copies count several times: they are learnt by heart first. Where they are in the
evaluation too, it measures what was learnt by heart: it falls with the training loss,
and the best checkpoint is the one that has forgotten least.

## Evidence
Every row, by a digest of its texts, and then by MinHash, each pair compared for real:
shingles with a Jaccard similarity of 0.8, answers alike too. Exact copies are a warning
from 0.01 of the rows, a convention of ours; near copies from 0.05: Lee et al. report
3.04 % of C4 and 4.86 % of LM1B, which are used as they are.
Of the evaluation rows, a warning from 0.001 where all words are the same (in other
case, with other spaces), a convention of ours; `almost-evaluation-row` from 0.05: Lee
et al. found that more than 4 % of the validation rows of standard sets overlap with
training. Prompts with other answers from 0.01 of the rows, and not above 0.5, where all
rows share their prompts.
By hand: `collections.Counter(map(json.dumps, rows)).most_common(3)`, or
`set(map(str, train)) & set(map(str, test))`.

## What to try
1. `report.filtered(path)` leaves the later ones out, and those of the evaluation.
2. Take copies out before the rows are split, and split by groups of equal prompts.

## Known problems
Rows that are repeated on purpose (weights of a mixture, one batch to overfit) are
copies. Several answers to one prompt are none, nor are texts of the same words with
other signs and operators, and rows with other labels; where answers are judged (a
label, a score, chosen and rejected), one prompt may have answers that are almost alike.
Sets of one instruction and few classes share rows by chance; rows of one pattern, with
other names and numbers, are almost the same.

## References
- Lee et al., "Deduplicating Training Data Makes Language Models Better", ACL 2022
- Broder, "On the resemblance and containment of documents", 1997
"""

from ftlab.rules.reading.dataset import RowRule
from ftlab.rules.reading.row_kind import Kind

KINDS = (
    Kind(
        "duplicate-row",
        "exactly what an earlier row says",
        "The rows were joined twice, or sampled with repetition.",
        "Leave the copies out: report.filtered(path).",
        0.01,
        left_out=True,
    ),
    Kind(
        "near-duplicate",
        "almost what an earlier row says",
        "The same text with other spelling, spaces or a few other words.",
        "Leave the later ones out: report.filtered(path).",
        0.05,
        left_out=True,
    ),
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


class RowsRepeated(RowRule):
    """Finds rows that say what another row says, here or in the evaluation."""

    code = "DAT061"
    kinds = KINDS
