"""The answers of an encoder-decoder begin with the token that starts its decoder.

Somebody writes it in front of each answer, as one does for a decoder alone. The model
does so itself: the decoder sees two, and learns to answer the first with the second.

Fix: labels that begin with the answer.

Source: huggingface/transformers#7077.
"""

from ftlab.faults.builders.chats import answered_by_t5
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Begin each answer with the start token."""
    return answered_by_t5(opened=not fixed)


FAULT = Fault(
    "each generated answer begins with a start token",
    code="DAT015",
    places=("token 0 of sample *",),
)
