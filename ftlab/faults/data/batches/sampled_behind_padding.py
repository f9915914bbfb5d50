"""Answers are sampled while training goes on, of prompts padded on the right.

The tokenizer pads the rows of the training on the right, as it should, and the prompts
of `generate` in the same way: all but the longest are continued behind padding.

Fix: ``tokenizer.padding_side = "left"`` where the prompts are made.

Source: huggingface/transformers#26569, #25790, #34658.
"""

from ftlab.faults.builders.chats import (
    answers_only,
    chats,
    sampling,
    tokenizer,
    trained_on,
)
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Sample by a callback, behind every second step."""
    made, talks = tokenizer(), chats()
    case = trained_on(made, answers_only(made, talks))
    side = "left" if fixed else "right"
    case.trainer.add_callback(sampling(made, talks[:4], side))
    return case


FAULT = Fault(
    "answers sampled behind padding",
    code="DAT042",
    places=("config padding_side",),
)
