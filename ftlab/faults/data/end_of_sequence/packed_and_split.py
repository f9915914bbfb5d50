"""Packed rows begin in the middle of an answer whose question is in another row.

All conversations are written one behind the other and cut into rows of one length: most
rows begin within a conversation, and learn an answer without its question.

Fix: packing that keeps conversations whole: ``packing_strategy="bfd"``.

Source: TRL, ``pack_dataset(strategy="wrapped")``.
"""

from ftlab.faults.builders.chats import chats, ids_of, labelled, tokenizer, trained_on
from ftlab.faults.fault import Case, Fault

LENGTH = 64


def build(fixed: bool) -> Case:
    """Cut wherever a row is full; the twin fills rows with whole conversations."""
    from transformers import default_data_collator

    made = tokenizer()
    talks = ids_of(made, chats(96, words=(2, 5)))
    if fixed:
        rows = [_padded(row, made.pad_token_id) for row in talks]
    else:
        stream = [token for row in talks for token in row]
        starts = range(0, len(stream) - LENGTH, LENGTH)
        rows = labelled([stream[start : start + LENGTH] for start in starts])
    return trained_on(made, rows, default_data_collator)


def _padded(row: list[int], pad: int) -> dict[str, list[int]]:
    row, rest = row[:LENGTH], LENGTH - len(row)
    return {
        "input_ids": row + [pad] * rest,
        "labels": row + [-100] * rest,
        "attention_mask": [1] * len(row) + [0] * rest,
    }


FAULT = Fault(
    "packed rows begin within a conversation",
    code="DAT023",
    places=("token 0 of sample *",),
    evident=1,
    also=("DAT046",),
)
