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
    pad = padded_by_length(made)

    def collate(rows: list[Any]) -> Any:
        batch = pad(rows)
        if not fixed:
            batch["attention_mask"] = (batch["input_ids"] != made.pad_token_id).long()
        return batch

    return trained_on(made, answers_only(made, chats(turns=2)), collate)


FAULT = Fault(
    "the ends of turns are hidden within a conversation",
    code="DAT020",
    places=("token * of sample *",),
)
