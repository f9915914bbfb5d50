"""The rule DAT097, labels-misleading.

## What it does
Finds labels and answers that tell nothing apart or contradict each other: one for all
rows, one class in several spellings, two labels for one text, one long answer for many
questions, verdicts that are texts, -1 for a class, lists of 0 and 1 of another length
than the others'; and rows sorted by their label.

## Why is this bad?
A label that never differs is learnt without reading the text. A class in two spellings
becomes two. One text with two labels keeps the loss up, whatever is learnt.

## Evidence
A column `label`, or short answers. There are classes where 0.95 of the rows have a
label of at most 40 characters, and each has 10 rows on average. `one-label`: the same
in all rows, 50 at least. `label-spelt-apart` (case, spaces): from 0.01 of the rows,
each spelling at most 0.3 as frequent as the usual one; and misspellings, where all rare
labels, two at least, are one letter from a class with 20 times as many rows, or are
what its first letters are (`pos`: three at least, and 0.6 of it at most), 0.3 as often.
`labels-contradict`: from 0.01; above 0.2 rows hold more than was read, or several
labels are right, and nothing is told. `answer-of-many`: an answer of 60 characters and
more, to 10 rows and 0.01 of all at least that ask for different things, unless 0.9 of
the rows repeat a few answers, each 4 times on average; a warning from 0.1. It is meant
where it greets or says who speaks, and tells of no failure; and where 0.8 of its
prompts have a word that stands in 0.3 of them, and 4 times as often as in those of
other rows: they are about one thing. `sorted-by-label` is always a note: fewer than 0.1
of the stretches of one label that chance makes. `verdict-as-text`: `label` beside
`prompt` and `completion`, as of KTO, is "True" or "False", "yes" or "no", "1" or "0"
wherever it is a text, and both occur; unless 0.3 of the completions say it at their
beginning or end, or they are a few classes. `label-of-none`: -1 where all others are
counted from 0 to 2 at least, and -1 is at most 0.3 as frequent as the rarest of them.
`label-of-other-length`: all labels are lists of 0 and 1, and at least 0.9 of them, 20
rows and more, have one length of 3 or more: shorter ones may be numbers of classes.
`answer-of-no-choice` from 0.001: a letter or a number beyond the choices of its row,
counted from 0 or 1, or none of the labels that they have. These bounds are conventions
of ours and no measurements.
By hand: `collections.Counter(row["label"] for row in rows)`.

## What to try
1. Look at how the label was joined to the rows.
2. `row["label"].strip().lower()`; decide on one label for a text.
3. `row["label"] = row["label"].strip().lower() in ("true", "yes", "1")`.
4. Shuffle rows before they are trained on or split.

## Known problems
Rows of one class out of a larger dataset. Rare classes that are each one letter from a
frequent one. Answers that are refused in the same words on purpose. Of a dataset of
which only the first rows were looked at, less is told; without the texts (no `rensa`)
`answer-of-many` is not.

## References
- huggingface/trl, `KTOTrainer` (`sum(dataset["label"])`, `torch.tensor` of labels)
- Bowman et al., "A large annotated corpus for learning natural language inference",
  EMNLP 2015 (pairs without a gold label)
- Northcutt et al., "Pervasive Label Errors in Test Sets", NeurIPS 2021
"""

from ftlab.rules.reading.dataset import RowRule
from ftlab.rules.reading.row_kind import ALWAYS, NEVER, Kind

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
        "label-spelt-apart",
        "a class in another spelling than elsewhere",
        "Labels of several sources, or typed by hand, were joined as they were.",
        "Write each class in one way: label.strip().lower(), and in full.",
        0.01,
    ),
    Kind(
        "labels-contradict",
        "a text that has another label in an earlier row",
        "Several people labelled the text, or labels were corrected and both kept.",
        "Decide on one label: nobody can tell which is right by the order of rows.",
        0.01,
        0.2,
    ),
    Kind(
        "answer-of-many",
        "one long answer to many different questions",
        "A text that stands for a failure was saved as the answer; or it is a standard "
        "reply, and meant.",
        "Look at their prompts: answer them, or leave these rows out, where the reply "
        "does not fit.",
        0.1,
    ),
    Kind(
        "verdict-as-text",
        "a label for good or bad that is a text",
        "A table of texts was read, or labels were written with str: any text but an "
        "empty one is true, 'False' too, and TRL's KTOTrainer raises.",
        "row['label'] = row['label'].strip().lower() in ('true', 'yes', '1').",
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
    Kind(
        "answer-of-no-choice",
        "a key that is none of the choices",
        "Choices were lost or cut off, or the key is of another question.",
        "Leave these rows out: report.filtered(path); or mend the join.",
        left_out=True,
    ),
    Kind(
        "sorted-by-label",
        "rows that are sorted by their label",
        "The rows were exported class by class.",
        "Shuffle them before they are trained on or split.",
        NEVER,
    ),
)
"""The kinds of faults, each with the share of rows from which on it is a warning."""


class LabelsMisleading(RowRule):
    """Finds labels that tell nothing apart, or contradict each other."""

    code = "DAT097"
    name = "labels-misleading"
    since = "0.1.0"
    status = "preview"
    kinds = KINDS
