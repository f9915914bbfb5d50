"""A decoder is given its answer as it is, and learns to copy it.

A collator makes ``decoder_input_ids`` of the labels and shifts nothing. Each position
reads the token that it is asked for: the loss falls fast, and nothing is generated.

Fix: labels alone; the model makes the decoder's inputs of them.

Source: transformers documentation, T5, "Training": ``decoder_input_ids`` are made by
shifting the labels.
"""

from typing import Any

from ftlab.faults.builders.chats import (
    chats,
    ids_of,
    padded_by_length,
    sized,
    tokenizer,
)
from ftlab.faults.builders.trainers import trained
from ftlab.faults.builders.zoo import t5
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Shift the decoder's inputs by one, or not at all."""
    made = tokenizer(eos_token="</s>")
    talks = chats()
    questions = ids_of(made, [question["content"] for question, _ in talks])
    answers = ids_of(made, [answer["content"] + "</s>" for _, answer in talks])
    rows = [
        {"input_ids": question, "labels": answer}
        for question, answer in zip(questions, answers, strict=True)
    ]
    start = made.pad_token_id
    model = sized(made, t5, decoder_start_token_id=start)
    collate = Pair(padded_by_length(made), start, shifted=fixed)
    further = {"data_collator": collate, "processing_class": made}
    options = {"per_device_train_batch_size": 8, "max_steps": 6}
    return trained(model, rows=rows, trainer=further, **options)


class Pair:
    """Pads a batch, and makes the decoder's inputs of its labels."""

    def __init__(self, pad: Any, start: int, *, shifted: bool) -> None:
        self.pad = pad
        self.start = start
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
    "decoder-reads-its-answer",
    "the loss falls fast, and nothing but padding is generated",
    code="NUM014",
    places=("data labels",),
    also=("DAT015",),
)
