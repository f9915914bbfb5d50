"""A decoder is given its answer as it is, and learns to copy it.

A collator makes ``decoder_input_ids`` of the labels and shifts nothing. Each position
reads the token that it is asked for: the loss falls fast, and nothing is generated.

Fix: labels alone; the model makes the decoder's inputs of them.

Source: transformers documentation, T5, "Training": ``decoder_input_ids`` are made by
shifting the labels.
"""

from typing import Any

from ftlab.faults.builders.chats import answered_by_t5, padded_by_length
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Shift the decoder's inputs by one, or not at all."""
    return answered_by_t5(lambda made: Pair(made, shifted=fixed))


class Pair:
    """Pads a batch, and makes the decoder's inputs of its labels."""

    def __init__(self, made: Any, *, shifted: bool) -> None:
        self.pad = padded_by_length(made)
        self.start = made.pad_token_id
        self.shifted = shifted

    def __call__(self, rows: list[Any]) -> Any:
        """Make a batch."""
        batch = self.pad(rows)
        ids = batch["labels"].masked_fill(batch["labels"] == -100, self.start)
        if self.shifted:
            ids = ids.roll(1, 1)
            ids[:, 0] = self.start
        return {**batch, "decoder_input_ids": ids}


FAULT = Fault(
    "the loss falls fast, and nothing but padding is generated",
    code="NUM014",
    places=("data labels",),
    also=("DAT015",),
)
