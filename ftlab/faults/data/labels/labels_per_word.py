"""A token classifier learns the classes of words at the places of pieces.

The tokenizer splits words into pieces and writes a token in front of them. The labels
are still one per word, from the first place on, and those behind them -100.

Fix: ``word_ids()`` tells the word of each piece: its class for the first one, -100 for
the others and for special tokens.

Source: transformers documentation, "Token classification", preprocessing.
"""

from ftlab.faults.builders.tags import tagged
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Align labels with pieces, or not."""
    return tagged("token" if fixed else "word")


FAULT = Fault(
    "labels are one per word, and the text is in pieces",
    code="DAT025",
    places=("token 0 of sample *",),
)
