"""Every conversation is longer than ``max_length``, and none keeps its end.

The limit was taken over from another job. No row is shorter, so that nothing in the
batch looks odd; nothing teaches the model to end an answer.

Fix: a ``max_length`` above the lengths of the data.

Source: TRL, SFTConfig, ``max_length`` truncates from the right.
"""

from ftlab.faults.builders.chats import chats, supervised_on, tokenizer
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Truncate all conversations within their answer."""
    settings = {"max_length": 256 if fixed else 40, "max_steps": 2}
    return supervised_on(tokenizer(), chats(words=(14, 20)), **settings)


FAULT = Fault(
    "every answer is cut off at max_length",
    code="DAT023",
    places=("token 39 of sample *",),
    steps=2,
    needs=("trl>=0.24", "datasets"),
)
