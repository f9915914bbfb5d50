"""Conversations were cut after so many messages, and some end with a question.

Where the whole text is trained the question is; where answers are, its row is there for
nothing, or all of it is cut off.

Fix: cut behind the last answer.

Source: general; logs of chats end where somebody left.
"""

from ftlab.faults.builders.rows import fault_of_rows, looked_at, one_in, talks
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Cut some conversations in front of their last answer."""
    rows = talks(turns=2)
    broken = one_in(8)
    for at in broken if not fixed else ():
        rows[at]["messages"].pop()
    spots = [f"row {at} messages[2].content" for at in broken]
    return looked_at(rows, spots=spots)


FAULT = fault_of_rows(
    "the model asks where it should answer",
    code="DAT058",
)
