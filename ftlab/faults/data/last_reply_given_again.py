"""A service that had failed gave its last reply again, and the logs kept both.

Fix: cut these conversations before the repetition, or leave them out.

Source: general.
"""

from ftlab.faults.fault import Case, Fault
from ftlab.faults.rows import looked_at, one_in, talks


def build(fixed: bool) -> Case:
    """Give the second answer for the third one."""
    rows, broken = talks(turns=3), one_in(12)
    for at in broken if not fixed else ():
        said = rows[at]["messages"]
        said[5]["content"] = said[3]["content"]
    spots = [f"row {at} messages[5].content character *" for at in broken]
    return looked_at(rows, spots=spots)


FAULT = Fault(
    "last-reply-given-again",
    "the model gives an answer to the question before",
    code="DAT059",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
