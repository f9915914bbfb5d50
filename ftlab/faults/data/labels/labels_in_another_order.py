"""Each question is trained with the answer of somebody else.

The collator sorts the rows by length before it pads their ids, and makes labels of the
rows as they came.

Fix: sort the rows once, and make both of them.

Source: torch documentation, ``pack_padded_sequence``: what was sorted by length has to
be put back into its order.
"""

from typing import Any

from ftlab.faults.builders.chats import (
    answers_only,
    chats,
    padded_by_length,
    tokenizer,
    trained_on,
)
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Sort between ids and labels."""
    made = tokenizer()
    pad = padded_by_length(made)

    def collate(rows: list[Any]) -> Any:
        ordered = sorted(rows, key=lambda row: -len(row["input_ids"]))
        batch = pad(ordered)
        if not fixed:
            batch["labels"] = pad(rows)["labels"]
        return batch

    return trained_on(made, answers_only(made, chats(words=(2, 12))), collate)


FAULT = Fault(
    "labels of other rows of the batch",
    code="DAT025",
    places=("token * of sample *",),
)
