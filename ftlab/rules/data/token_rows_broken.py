"""The rule DAT099, token-rows-broken.

## What it does
Finds rows of token ids with no label that counts, with labels shifted by one or for
padding, with ids that the tokenizer does not have, or with a mask of another length.

## Why is this bad?
A row without labels costs a step's time and teaches nothing; a batch of such rows has a
loss of nan. Shifted twice, a model learns the token after the next. An id beyond the
embedding stops a GPU, and below it is another word.

## Evidence
`input_ids`, `labels` and `attention_mask` of every row. `nothing-in-labels` from 0.01
of the rows, a convention of ours: of many rows a few are cut off before their answer.
`labels-shifted` from 0.01, for the same reason: every label that counts is the id
behind its place, and 3 or more differ from the id at their place. `padding-in-labels`
from 0.01 too: two places or more with a label and an `attention_mask` of 0; one may be
an end that is to be learnt. The other two are a warning in any row. Ids are held
against the highest id of the tokenizer that was given; -200 is a picture's place.
Labels may be longer or shorter than `input_ids`: models that read one text and write
another have them so.
By hand: `all(label == -100 for label in row["labels"])`.

## What to try
1. Make the rows anew with this tokenizer, and with a `max_length` that holds answers.
2. Look at how labels are masked: `ftlab.tokens(dataset, tokenizer)` shows it.

## Known problems
Loops that take the cross-entropy of logits and labels place by place want shifted ones.
A model whose embedding was made larger has ids that its tokenizer need not have.

## References
- huggingface/trl#980 (all labels are -100)
- unslothai/unsloth#2095 (the same, as an error)
"""

from ftlab.rules.reading.dataset import RowRule
from ftlab.rules.reading.row_kind import ALWAYS, Kind

KINDS = (
    Kind(
        "nothing-in-labels",
        "no label that counts: all are -100",
        "The answer was cut off, or the words before it were not found.",
        "Leave these rows out, or mask the labels anew.",
        0.01,
        left_out=True,
        among=("tokens",),
    ),
    Kind(
        "labels-shifted",
        "labels that are shifted by one already",
        "labels[i] is input_ids[i + 1], and models of transformers shift labels "
        "themselves: the token after the next is what is learnt.",
        "Write labels as a copy of input_ids, with -100 where nothing is to be learnt; "
        "right as it is where your own loop does not shift.",
        0.01,
        among=("tokens",),
    ),
    Kind(
        "padding-in-labels",
        "labels of padding, which nobody attends to",
        "Labels were copied from the padded ids: the model learns to write padding.",
        "labels = [label if seen else -100 for label, seen in zip(labels, mask)].",
        0.01,
        among=("tokens",),
    ),
    Kind(
        "id-beyond-vocabulary",
        "an id that the tokenizer does not have",
        "The rows were made with another tokenizer, or tokens were added to it.",
        "Make the rows anew with the tokenizer of the training.",
        ALWAYS,
        among=("tokens",),
    ),
    Kind(
        "lengths-disagree",
        "a mask of another length than the ids",
        "The ids were cut or lengthened, and what stands beside them was not.",
        "Cut all columns alike, or make the rows anew.",
        ALWAYS,
        left_out=True,
        among=("tokens",),
    ),
)
"""The kinds of faults, each with the share of rows from which on it is a warning."""


class TokenRowsBroken(RowRule):
    """Finds rows of tokens that teach nothing, or fit no model."""

    code = "DAT099"
    name = "token-rows-broken"
    since = "0.1.0"
    status = "preview"
    kinds = KINDS
