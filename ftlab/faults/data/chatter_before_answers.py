"""A model wrote some of the answers, and said before them that here they are.

Fix: take the first line away where the answer alone is wanted.

Source: general; code that a program reads begins with a sentence.
"""

from ftlab.faults.fault import Case, Fault
from ftlab.faults.rows import looked_at, one_in, pairs


def build(fixed: bool) -> Case:
    """Write a line before some answers."""
    rows, broken = pairs(), one_in(12)
    for at in broken if not fixed else ():
        rows[at]["completion"] = (
            "Sure! Here's what you asked for:\n\n" + rows[at]["completion"]
        )
    return looked_at(rows, spots=[f"row {at} completion character 0" for at in broken])


FAULT = Fault(
    "chatter-before-answers",
    "the answers begin with a sentence that no program can read",
    code="DAT064",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
