"""A token classifier learns each class one token too early.

Labels are made piece by piece, and the tokenizer writes a token in front of the text
and one behind it. The collator fills the two that are missing with -100.

Fix: -100 for the token in front, or labels by ``word_ids()``.

Source: transformers documentation, "Token classification", preprocessing.
"""

from ftlab.faults.builders.tags import tagged
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Leave the marks out of the labels, or not."""
    return tagged("token" if fixed else "piece")


FAULT = Fault(
    "labels begin on the token in front of the text",
    code="DAT025",
    places=("token 0 of sample *",),
)
