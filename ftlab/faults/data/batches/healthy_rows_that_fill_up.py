"""The last batch is filled up with rows of padding, which the mask shows.

A mask of zeros alone makes some attention NaN, so the first padding is shown. No label
counts there.
"""

from typing import Any

from ftlab.faults.builders.chats import padded_by_length, tokenizer, trained_on, whole
from ftlab.faults.fault import Case, Healthy


class Filled:
    """Makes three rows of each batch rows of padding."""

    def __init__(self, pad: Any, padding: int) -> None:
        self.pad = pad
        self.padding = padding

    def __call__(self, rows: list[Any]) -> Any:
        """Make a batch."""
        batch = self.pad(rows)
        batch["input_ids"][-3:] = self.padding
        batch["labels"][-3:] = -100
        batch["attention_mask"][-3:] = 0
        batch["attention_mask"][-3:, :2] = 1
        return batch


def build() -> Case:
    """Train on five rows of eight."""
    made = tokenizer()
    collate = Filled(padded_by_length(made), made.pad_token_id)
    return trained_on(made, whole(made), collate)


HEALTHY = Healthy(
    "rows of padding, shown by the mask and without labels",
    looks_like=("DAT007", "DAT004"),
    steps=6,
)
