"""A second notation was mapped the wrong way round: the answers are the user's.

Fix: ``{"human": "user", "gpt": "assistant"}``, looked at for each source.

Source: general; some exports call who writes to the model ``"from"``, others ``"to"``.
"""

from ftlab.faults.fault import Case, Fault
from ftlab.faults.rows import looked_at, one_in, talks

OTHER = {"user": "assistant", "assistant": "user"}
"""The wrong name of each speaker."""


def build(fixed: bool) -> Case:
    """Exchange the roles of some conversations."""
    rows, broken = talks(turns=2), one_in(12)
    for at in broken if not fixed else ():
        for message in rows[at]["messages"]:
            message["role"] = OTHER[message["role"]]
    spots = [f"row {at} messages[0].content" for at in broken]
    return looked_at(rows, spots=spots)


FAULT = Fault(
    "roles-exchanged",
    "the model asks in place of answering",
    code="DAT060",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
