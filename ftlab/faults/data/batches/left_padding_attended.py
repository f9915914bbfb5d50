"""Rows are padded on the left, and the model is given no attention mask.

Text attends to the padding in front of it: what a row means depends on how long the
other rows of its batch are.

Fix: pass the ``attention_mask`` that the tokenizer returns.

Source: huggingface/transformers#25790.
"""

from typing import Any

from ftlab.faults.builders.chats import padded_by_length, tokenizer, trained_on, whole
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Pad on the left; hand over ids and labels alone."""
    made = tokenizer()
    made.padding_side = "left"
    pad = padded_by_length(made)

    def collate(rows: list[Any]) -> dict[str, Any]:
        batch = dict(pad(rows))
        if not fixed:
            del batch["attention_mask"]
        return batch

    return trained_on(made, whole(made), collate)


FAULT = Fault(
    "text attends to the padding in front of it",
    code="DAT007",
    places=("token * of sample *",),
)
