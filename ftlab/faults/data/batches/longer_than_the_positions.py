"""Rows are longer than the positions that their model is made for.

Rotary positions go on beyond ``max_position_embeddings`` without a word.

Fix: a ``max_length`` that the model has positions for.

Source: huggingface/transformers#10015, git-cloner/llama-lora-fine-tuning#10.
"""

from ftlab.faults.builders.chats import (
    chats,
    ids_of,
    labelled,
    sized,
    tokenizer,
    trained_on,
)
from ftlab.faults.fault import Case, Fault

LONGEST = 48


def build(fixed: bool) -> Case:
    """Train on all rows, or on those that fit."""
    made = tokenizer()
    talks = ids_of(made, chats(64, words=(3, 24)))
    rows = [row for row in talks if len(row) <= LONGEST] if fixed else talks
    model = sized(made, max_position_embeddings=LONGEST)
    return trained_on(made, labelled(rows), model=model)


FAULT = Fault(
    "rows reach beyond the positions of their model",
    code="DAT007",
    places=("token 48 of sample *",),
)
