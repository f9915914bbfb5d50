"""Answers lack their first word, or begin with another one.

Somebody shifts the answers of a T5 by hand: all but the last token for the decoder, all
but the first for the labels. The start token, with which a generation begins, is in no
row, and no label is the first token of an answer.

Fix: ``labels`` alone; the model puts the start token in front.

Source: huggingface/transformers#5987.
"""

from typing import Any

import torch

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


class Shifted:
    """Pads rows, and makes the decoder's inputs of their labels."""

    def __init__(self, made: Any) -> None:
        self.pad, self.padded = made.pad_token_id, padded_by_length(made)

    def __call__(self, rows: list[dict[str, Any]]) -> dict[str, torch.Tensor]:
        """Shift the answers."""
        batch = dict(self.padded(rows))
        answers = batch["labels"]
        given = answers.masked_fill(answers == -100, self.pad)
        batch["decoder_input_ids"] = given[:, :-1]
        batch["labels"] = answers[:, 1:].contiguous()
        return batch


def build(fixed: bool) -> Case:
    """Train a T5 on questions and answers."""
    made = tokenizer(eos_token="</s>")
    talks = chats()
    questions = ids_of(made, [question["content"] for question, _ in talks])
    answers = ids_of(made, [answer["content"] + "</s>" for _, answer in talks])
    rows = [
        {"input_ids": question, "labels": answer}
        for question, answer in zip(questions, answers, strict=True)
    ]
    model = sized(made, t5, decoder_start_token_id=made.pad_token_id)
    collator = padded_by_length(made) if fixed else Shifted(made)
    further = {"data_collator": collator, "processing_class": made}
    options = {"per_device_train_batch_size": 8, "max_steps": 6}
    return trained(model, rows=rows, trainer=further, **options)


FAULT = Fault(
    "answers-shifted-by-hand",
    "generated answers begin with the wrong word",
    code="DAT015",
    places=("token 0 of sample *",),
    evident=1,
)
