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

    def collator(made: Any) -> Any:
        pad, start = padded_by_length(made), made.pad_token_id

        def collate(rows: list[Any]) -> Any:
            batch = pad(rows)
            ids = batch["labels"].masked_fill(batch["labels"] == -100, start)
            if fixed:
                ids = ids.roll(1, 1)
                ids[:, 0] = start
            return {**batch, "decoder_input_ids": ids}

        return collate

    return answered_by_t5(collator)


FAULT = Fault(
    "the loss falls fast, and nothing but padding is generated",
    code="NUM014",
    places=("data labels",),
    also=("DAT015",),
)
