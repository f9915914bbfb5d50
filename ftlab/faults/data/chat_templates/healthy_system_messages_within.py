"""Conversations of many turns with a system message in the middle of each.

What the system says changes on the way: it is the same conversation all the same.
"""

from ftlab.faults.builders.chats import chats, tokenizer, trained_on, whole
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Put a system message in front of the second of three questions."""
    made = tokenizer()
    note = {"role": "system", "content": "the light falls by noon"}
    talks = [[note, *talk[:2], note, *talk[2:]] for talk in chats(turns=3)]
    rows = whole(made, talks)
    return trained_on(made, rows)


HEALTHY = Healthy(
    "a system message in the middle of each conversation",
    looks_like=("DAT046",),
    steps=6,
)
