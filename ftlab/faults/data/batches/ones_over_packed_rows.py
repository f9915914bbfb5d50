"""Documents of a packed row see each other, though positions begin again.

A mask of ones, from a collator of one's own, keeps transformers from telling packed
rows apart.

Fix: no attention mask beside positions that begin again.

Source: huggingface/transformers#46634.
"""

from typing import Any

from ftlab.faults.builders.chats import chats, tokenizer, trained_on, whole
from ftlab.faults.fault import Case, Fault


class Flattened:
    """Lays the rows of a batch end to end, and may add a mask."""

    def __init__(self, masked: bool) -> None:
        from transformers import DataCollatorWithFlattening

        self.masked = masked
        self.flatten = DataCollatorWithFlattening()

    def __call__(self, rows: list[Any]) -> dict[str, Any]:
        """Make a batch of one row."""
        import torch

        batch = dict(self.flatten(rows))
        if self.masked:
            batch["attention_mask"] = torch.ones_like(batch["input_ids"])
        return batch


def build(fixed: bool) -> Case:
    """Collate with a mask, or without."""
    made = tokenizer()
    rows = whole(made, chats(turns=2))
    return trained_on(made, rows, Flattened(masked=not fixed))


FAULT = Fault(
    "documents of a packed row attend to each other",
    code="DAT007",
    places=("token * of sample 0",),
)
