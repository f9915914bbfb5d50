"""The attention mask is 1 where the padding is, and the model reads nothing else.

``ids == pad`` was written for torch's ``key_padding_mask``, where True is hidden. In
transformers 1 is seen.

Fix: ``(ids != pad).long()``.

Source: general; torch and transformers mean the opposite by such a mask.
"""

from typing import Any

from ftlab.faults.builders.chats import (
    chats,
    padded_by_length,
    tokenizer,
    trained_on,
    whole,
)
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Make the mask in a collator of one's own."""
    made = tokenizer()
    pad = padded_by_length(made)

    def collate(rows: list[Any]) -> Any:
        batch = pad(rows)
        padding = batch["input_ids"] == made.pad_token_id
        batch["attention_mask"] = (~padding if fixed else padding).long()
        return batch

    rows = whole(made, chats(words=(2, 12)))
    return trained_on(made, rows, collate)


FAULT = Fault(
    "the model sees the padding and not the text",
    code="DAT007",
    places=("token * of sample *",),
    also=("DAT025",),
)
