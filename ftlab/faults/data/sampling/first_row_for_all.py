"""The collator fills each batch with its first row.

A loop over the rows uses ``features[0]`` where it ought to use each: the batch has the
right shape, and holds one row eight times.

Fix: use the row of the loop.

Source: torch documentation, ``collate_fn`` is handed the list of all samples.
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
    """Take the first row for all of them."""
    made = tokenizer()
    pad = padded_by_length(made)

    def collate(given: list[dict[str, Any]]) -> Any:
        return pad([row if fixed else given[0] for row in given])

    return trained_on(made, answers_only(made, chats(32)), collate)


FAULT = Fault(
    "each batch holds its first row eight times",
    code="DAT029",
    places=("sample *",),
)
