"""Tokens were written to a file with two bytes for each.

The vocabulary has more than 65,536 entries, and the marks at both ends of a text are
among its last: they wrap around, as every other id up there.

Fix: ``np.uint32``.

Source: huggingface/transformers#2825 (119,547 entries stored as uint16).
"""

from ftlab.faults.builders.stored import stored_as, tokenizer
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Store the ids in two bytes; the twin takes four."""
    return stored_as(tokenizer(900, filled=65_200), "uint32" if fixed else "uint16")


FAULT = Fault(
    "ids of a vocabulary of 66,100 stored in two bytes each",
    code="DAT028",
    places=("token * of sample *",),
)
