"""A GPT-2 is trained on rows that are padded on the left, and its positions count pads.

The mask hides the padding, but nothing tells the positions of it: how far a text is
shifted depends on the longest row of its batch.

Fix: ``position_ids`` counted by the mask, or padding on the right.

Source: huggingface/transformers#29583, huggingface/trl#469.
"""

from typing import Any

from ftlab.faults.builders import Case, Fault, gpt2
from ftlab.faults.builders.chats import (
    padded_by_length,
    sized,
    tokenizer,
    trained_on,
    whole,
)


class Counted:
    """Pads on the left, and may count positions by the mask."""

    def __init__(self, made: Any, counts: bool) -> None:
        self.counts = counts
        self.pad = padded_by_length(made)

    def __call__(self, rows: list[Any]) -> dict[str, Any]:
        """Make a batch."""
        batch = dict(self.pad(rows))
        if self.counts:
            batch["position_ids"] = (batch["attention_mask"].cumsum(-1) - 1).clamp(0)
        return batch


def build(fixed: bool) -> Case:
    """Leave positions to the model, or count them by the mask."""
    made = tokenizer()
    made.padding_side = "left"
    rows = whole(made)
    model = sized(made, gpt2, n_positions=256)
    return trained_on(made, rows, Counted(made, fixed), model=model)


FAULT = Fault(
    "texts begin behind the positions of their padding",
    code="DAT007",
    places=("token * of sample *",),
)
