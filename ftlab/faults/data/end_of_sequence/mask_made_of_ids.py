"""The attention mask is made of the ids, and hides each end in a conversation.

``ids != pad_token_id`` was written for a padding token of its own. PAD is the end of a
turn here, and the ends within a conversation are hidden as well.

Fix: the mask that the tokenizer gives, padded with 0.

Source: locuslab/open-unlearning#128.
"""

from typing import Any

from ftlab.faults.builders.chats import (
    answers_only,
    chats,
    padded_by_length,
    tokenizer,
    trained_on,
)
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Make the mask in a collator of one's own."""
    made = tokenizer(pad_token="</turn>")
    collate = Masked(padded_by_length(made), made.pad_token_id, by_length=fixed)
    return trained_on(made, answers_only(made, chats(turns=2)), collate)


class Masked:
    """Pads a batch, and makes its mask."""

    def __init__(self, pad: Any, number: int, *, by_length: bool) -> None:
        self.pad = pad
        self.number = number
        self.by_length = by_length

    def __call__(self, rows: list[Any]) -> Any:
        """Make a batch."""
        batch = self.pad(rows)
        if not self.by_length:
            batch["attention_mask"] = (batch["input_ids"] != self.number).long()
        return batch


FAULT = Fault(
    "the ends of turns are hidden within a conversation",
    code="DAT020",
    places=("token * of sample *",),
)
