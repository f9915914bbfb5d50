"""Tokens were written to a file with one byte for each.

The vocabulary has 900 entries: ids above 255 wrap around, and are read as other tokens.

Fix: ``np.uint16`` holds 65,536 ids, ``np.uint32`` all.

Source: huggingface/transformers#2825 (ids stored in a type that is too narrow).
"""

from ftlab.faults.builders.stored import stored_as, tokenizer
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Store the ids in one byte; the twin takes two."""
    return stored_as(tokenizer(900), "uint16" if fixed else "uint8")


FAULT = Fault(
    "ids of a vocabulary of 900 stored in one byte each",
    code="DAT028",
    places=("token * of sample *",),
)
