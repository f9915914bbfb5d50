"""The loss is low from the start: most of it is padding that the model predicts.

A collator of one's own pads the ids and copies them to the labels. Padding is trained
like text, and is easy.

Fix: ``labels[attention_mask == 0] = -100``.

Source: torch, ``cross_entropy`` leaves out -100 alone.
"""

from typing import Any

from ftlab.faults.builders.chats import chats, ids_of, tokenizer, trained_on
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Copy the padded ids to the labels."""
    made = tokenizer()

    def collate(rows: list[Any]) -> Any:
        batch = made.pad(rows, return_tensors="pt")
        batch["labels"] = batch["input_ids"].clone()
        if fixed:
            batch["labels"][batch["attention_mask"] == 0] = -100
        return batch

    rows = [{"input_ids": row} for row in ids_of(made, chats(words=(2, 12)))]
    return trained_on(made, rows, collate)


FAULT = Fault(
    "padding has labels",
    code="DAT025",
    places=("token * of sample *",),
)
