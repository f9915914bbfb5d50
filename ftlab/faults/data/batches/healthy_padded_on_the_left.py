"""Rows padded on the left, with a mask that is 0 there, and right behind it BOS.

Pads stand in front of every text, and positions count them.
"""

from ftlab.faults.builders.chats import tokenizer, trained_on, whole
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Pad on the left, as for generation."""
    made = tokenizer()
    made.padding_side = "left"
    return trained_on(made, whole(made))


HEALTHY = Healthy(
    "padding in front of every text, masked",
    looks_like=("DAT007",),
    steps=6,
)
