"""Answers lack their first word, or begin with another one.

Somebody shifts the answers of a T5 by hand: all but the last token for the decoder, all
but the first for the labels. The start token, with which a generation begins, is in no
row, and no label is the first token of an answer.

Fix: ``labels`` alone; the model puts the start token in front.

Source: huggingface/transformers#5987.
"""

from typing import Any

import torch

from ftlab.faults.builders.chats import answered_by_t5, padded_by_length
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
    return answered_by_t5(padded_by_length if fixed else Shifted)


FAULT = Fault(
    "generated answers begin with the wrong word",
    code="DAT015",
    places=("token 0 of sample *",),
    evident=1,
)
