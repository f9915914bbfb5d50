"""Samples without labels that keep their place in the batch: they were filtered."""

from ftlab.faults.builders.chats import answers_only, tokenizer, trained_on
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Ignore the labels of every fourth sample."""
    made = tokenizer()
    rows = answers_only(made)
    for row in rows[::4]:
        row["labels"] = [-100] * len(row["labels"])
    return trained_on(made, rows)


HEALTHY = Healthy(
    "a quarter of the samples has no label that counts",
    looks_like=("DAT031",),
    steps=6,
)
