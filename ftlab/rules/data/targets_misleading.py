"""The rule DAT066, targets-misleading.

## What it does
Finds rows whose target teaches something else than what is meant: answers that stand in
the prompt, completions that begin with it, preferences between equal texts, between
answers to two prompts or against their scores, and labels that a training breaks on.

## Why is this bad?
A label that can be read off the prompt, or never differs, is learnt without reading the
text. A prompt in the completion is seen twice, and trained. Equal sides of a pair
cancel, and the margin is 0 for ever; answers to different prompts cannot be compared;
a pair turned round teaches the worse answer. Cross entropy raises for -1, and a batch
of lists of two lengths cannot be made.

## Evidence
A look at every row; all bounds are conventions of ours.
- `label-in-prompt`: answers of up to 40 characters that follow the same words
  (`label: `, `class=`) in 0.9 of the prompts that have these words, in 5 rows and with
  two different answers at least. Where few classes occur the share is held against how
  often the commonest would be right by chance. An answer that is copied out of the
  text, or stands among options, follows other words each time; where it ends a prompt
  behind words that promise one (`Answer: `), the options before it do not matter.
- `prompt-in-completion` from 0.1 of the rows; a single one may quote. The prompt ends
  as a sentence does, or a line end follows it. A completion that is its prompt to the
  letter is meant where 0.05 of the others are like their prompt (0.6 of its length, 0.5
  of its words), as corrected texts are.
- `equal-pair` and `pair-of-two-prompts` from 0.001: the texts of chosen and rejected,
  or of positive and negative without white space around them. Two prompts: the first
  message in which both differ, the system's apart, is a user's on both sides. In a run
  DAT013 sees equal sides in the batches.
- `pair-turned-round` from 0.01: the columns `score_chosen` and `score_rejected`,
  `chosen-rating` and the like. Above 0.2 the score is another judge's than the one who
  chose, or the less the better, and nothing is told.
- A column `label` or `labels`, or short answers. `one-label`: the same in all rows, 50
  at least, where all were looked at. `label-of-none`: -1 where all others are counted
  from 0 to 2 at least, and -1 is at most 0.3 as frequent as the rarest of them.
  `label-of-other-length`: all labels are lists of 0 and 1, and at least 0.9 of them, 20
  rows and more, have one length of 3 or more: shorter ones may be numbers of classes.

By hand: `sum(row["completion"] in row["prompt"] for row in rows)`, the same of chosen
and rejected, and `collections.Counter(row["label"] for row in rows)`.

## What to try
1. Take the field out of the prompt; `row["completion"].removeprefix(row["prompt"])`.
2. Join both sides by the id of their prompt, not by the order of rows; look at how the
   label was joined.
3. Sample the second answer with another seed or a higher temperature; of negatives
   that were mined, leave out the positives first. Exchange texts that are turned round.
4. Leave the other rows out: `report.filtered(path)`.

## Known problems
Completions that are rewritten prompts and begin alike; pairs of one answer to two
wordings of a prompt; scores of which less is better; rows of one class out of a larger
dataset. Pairs that are all turned round are not seen.

## References
- Kaufman et al., "Leakage in Data Mining", TKDD 2012
- Rafailov et al., "Direct Preference Optimization", NeurIPS 2023, equation 7
- huggingface/trl, `trl.data_utils.extract_prompt` (what both sides begin with);
  `KTOTrainer` (`sum(dataset["label"])`, `torch.tensor` of labels)
- Bowman et al., "A large annotated corpus for learning natural language inference",
  EMNLP 2015 (pairs without a gold label)
"""

from ftlab.rules.reading.dataset import RowRule
from ftlab.rules.reading.row_kind import ALWAYS, Kind

KINDS = (
    Kind(
        "label-in-prompt",
        "the answer behind the same words of the prompt",
        "The column of the label was written into the prompt, most often with other "
        "data about the row: the model reads it off, and cannot when it is used.",
        "Take the field out of the prompt.",
        ALWAYS,
    ),
    Kind(
        "prompt-in-completion",
        "the whole prompt once more in the completion",
        "The completion column holds the whole text: the prompt is then seen twice. "
        "What is nothing but the prompt was filled in with it, or is the same column.",
        "row['completion'].removeprefix(row['prompt']); leave out the rows of which "
        "nothing is left.",
        0.1,
    ),
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
    Kind(
        "pair-turned-round",
        "a chosen text with a lower score than the rejected one",
        "The two sides were exchanged, or sorted the wrong way round.",
        "Exchange chosen and rejected in these rows.",
        0.01,
        0.2,
        among=("preference",),
    ),
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


class TargetsMisleading(RowRule):
    """Finds answers, labels and preferences that teach something else."""

    code = "DAT066"
    kinds = KINDS
