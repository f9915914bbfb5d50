"""The rule DAT097, labels-misleading.

## What it does
Finds labels that a training breaks on: one for all rows, -1 for a class, and lists of 0
and 1 of another length than the others'.

## Why is this bad?
A label that never differs is learnt without reading the text. PyTorch's cross entropy
raises for -1, and a batch of lists of two lengths cannot be made.

## Evidence
A column `label` or `labels`, or answers of up to 40 characters. `one-label`: the same
in all rows, 50 at least, where all were looked at. `label-of-none`: -1 where all others
are counted from 0 to 2 at least, and -1 is at most 0.3 as frequent as the rarest of
them. `label-of-other-length`: all labels are lists of 0 and 1, and at least 0.9 of
them, 20 rows and more, have one length of 3 or more: shorter ones may be numbers of
classes. These bounds are conventions of ours and no measurements.
By hand: `collections.Counter(row["label"] for row in rows)`.

## What to try
1. Look at how the label was joined to the rows.
2. Leave rows without a label out.

## Known problems
Rows of one class out of a larger dataset.

## References
- huggingface/trl, `KTOTrainer` (`sum(dataset["label"])`, `torch.tensor` of labels)
- Bowman et al., "A large annotated corpus for learning natural language inference",
  EMNLP 2015 (pairs without a gold label)
"""

from ftlab.rules.reading.dataset import RowRule
from ftlab.rules.reading.row_kind import ALWAYS, Kind

KINDS = (
    Kind(
        "one-label",
        "the same label or answer in every row",
        "The label was joined wrongly, a filter has left one class, or texts were made "
        "truth values: bool('False') is True, as for any text but an empty one.",
        "Look at how the label came into the rows; training needs both, or all. Of "
        "texts: row['label'].strip().lower() in ('true', 'yes', '1').",
        ALWAYS,
    ),
    Kind(
        "label-of-none",
        "-1 in place of a class that is counted from 0",
        "People did not agree on a label, as in SNLI, or it is kept secret: PyTorch's "
        "cross entropy raises for -1; what it passes over is -100.",
        "Leave these rows out: report.filtered(path).",
        ALWAYS,
        left_out=True,
    ),
    Kind(
        "label-of-other-length",
        "a label with fewer or more places than the others",
        "Labels of before and after a class was added or taken out were joined.",
        "Make these labels anew with one list of classes, or leave the rows out: "
        "report.filtered(path).",
        ALWAYS,
        left_out=True,
    ),
)
"""The kinds of faults, each with the share of rows from which on it is a warning."""


class LabelsMisleading(RowRule):
    """Finds labels that a training breaks on."""

    code = "DAT097"
    name = "labels-misleading"
    since = "0.1.0"
    status = "preview"
    kinds = KINDS
