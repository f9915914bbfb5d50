"""Conversations one behind the other in one row, told apart by their positions.

EOS stands in the middle of the row, BOS too, and there is no attention mask.
"""

from ftlab.faults.builders.chats import chats, tokenizer, trained_on, whole
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Flatten the rows of a batch."""
    from transformers import DataCollatorWithFlattening

    made = tokenizer()
    rows = whole(made, chats(turns=2))
    return trained_on(made, rows, DataCollatorWithFlattening())


HEALTHY = Healthy(
    "EOS and BOS in the middle of a row without an attention mask",
    looks_like=("DAT020", "DAT022", "DAT023", "DAT007"),
    steps=6,
)
