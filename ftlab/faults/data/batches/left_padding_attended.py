"""Rows are padded on the left, and the model is given no attention mask.

Text attends to the padding in front of it: what a row means depends on how long the
other rows of its batch are.

Fix: pass the ``attention_mask`` that the tokenizer returns.

Source: huggingface/transformers#25790.
"""

from typing import Any

from ftlab.faults.builders.chats import tokenizer, trained_on, whole
from ftlab.faults.fault import Case, Fault


class Padded:
    """Pads, and hands over some of what comes of it."""

    def __init__(self, made: Any, names: tuple[str, ...]) -> None:
        from transformers import DataCollatorForSeq2Seq

        self.names = names
        self.pad = DataCollatorForSeq2Seq(made, padding=True)

    def __call__(self, rows: list[Any]) -> dict[str, Any]:
        """Make a batch."""
        batch = self.pad(rows)
        return {name: batch[name] for name in self.names}


def build(fixed: bool) -> Case:
    """Pad on the left; hand over ids and labels alone."""
    made = tokenizer()
    made.padding_side = "left"
    names = ("input_ids", "labels", *(("attention_mask",) if fixed else ()))
    return trained_on(made, whole(made), Padded(made, names))


FAULT = Fault(
    "text attends to the padding in front of it",
    code="DAT007",
    places=("token * of sample *",),
)
