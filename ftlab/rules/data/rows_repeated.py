"""The rule DAT061, rows-repeated.

## What it does
Finds rows that repeat an earlier one, to the letter or nearly so.

## Why is this bad?
Copies count several times: they are learnt by heart first, and fall into training and
evaluation both as soon as somebody splits the rows.

## Evidence
Every row, by a digest of its texts, and then by MinHash, each pair compared for real:
shingles with a Jaccard similarity of 0.8, answers alike too. Near copies are a warning
from 0.05 of the rows: Lee et al. report 3.04 % of C4 and 4.86 % of LM1B, which are used
as they are. Exact copies from 0.01, a convention of ours.
By hand: `collections.Counter(map(json.dumps, rows)).most_common(3)`.

## What to try
1. `report.filtered(path)` leaves the later ones out.
2. Take copies out before the rows are split.

## Known problems
Rows that are repeated on purpose (weights of a mixture, one batch to overfit) are
copies. Several answers to one prompt are none, nor are texts of the same words with
other signs and operators, and rows with other labels; where answers are judged (a
label, a score, chosen and rejected), one prompt may have answers that are almost alike.

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
)
"""The kinds of faults, each with the share of rows from which on it is a warning."""


class RowsRepeated(RowRule):
    """Finds rows that say what an earlier one says, exactly or almost."""

    code = "DAT061"
    name = "rows-repeated"
    since = "0.1.0"
    status = "preview"
    kinds = KINDS
