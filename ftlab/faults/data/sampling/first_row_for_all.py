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


class FirstForAll:
    """Makes a batch of the first row, or of each."""

    def __init__(self, made: Any, each: bool) -> None:
        self._pad = padded_by_length(made)
        self._each = each

    def __call__(self, given: list[dict[str, Any]]) -> Any:
        """Make a batch."""
        return self._pad([row if self._each else given[0] for row in given])


def build(fixed: bool) -> Case:
    """Take the first row for all of them."""
    made = tokenizer()
    rows = answers_only(made, chats(32))
    return trained_on(made, rows, FirstForAll(made, each=fixed))


FAULT = Fault(
    "each batch holds its first row eight times",
    code="DAT029",
    places=("sample *",),
)
