"""Rows are tokenised one by one as tensors, and stacked with a dimension too many.

``return_tensors="pt"`` makes a batch of each text. What the collator stacks has the
shape (samples, 1, tokens): nothing raises, and no token sees another one.

Fix: tokenise without ``return_tensors``, and let the collator make the tensors.

Source: transformers documentation, ``PreTrainedTokenizerBase.__call__``.
"""

from typing import Any

from ftlab.faults.builders import Case, Fault, plain_case
from ftlab.faults.builders.chats import chats, ids_of, sized, tokenizer


def build(fixed: bool) -> Case:
    """Stack texts of one length, each a batch of its own or not."""
    from torch import cat, stack

    made = tokenizer()
    model = sized(made)
    texts = [made.decode(row[:12]) for row in ids_of(made, chats(words=(8, 9)))]
    rows: list[Any] = [
        made(text, return_tensors="pt")["input_ids"][:, :10] for text in texts
    ]
    together = cat if fixed else stack
    ids = [together(rows[at : at + 4]) for at in range(0, len(rows), 4)]
    batches = [{"input_ids": each, "labels": each.clone()} for each in ids]
    return plain_case(model, rows=batches)


FAULT = Fault(
    "ids have three dimensions, and each token is read alone",
    code="DAT002",
    places=("data input_ids",),
)
