"""Documents of a packed row see each other, though positions begin again.

A mask of ones, from a collator of one's own, keeps transformers from telling packed
rows apart.

Fix: no attention mask beside positions that begin again.

Source: huggingface/transformers#46634.
"""

from typing import Any

from ftlab.faults.builders.chats import chats, tokenizer, trained_on, whole
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Collate with a mask, or without."""
    from torch import ones_like
    from transformers import DataCollatorWithFlattening

    made, flatten = tokenizer(), DataCollatorWithFlattening()

    def collate(rows: list[Any]) -> dict[str, Any]:
        batch = dict(flatten(rows))
        if not fixed:
            batch["attention_mask"] = ones_like(batch["input_ids"])
        return batch

    return trained_on(made, whole(made, chats(turns=2)), collate)


FAULT = Fault(
    "documents of a packed row attend to each other",
    code="DAT007",
    places=("token * of sample 0",),
)
