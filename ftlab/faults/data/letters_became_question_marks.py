"""Letters that an encoding does not have were written as question marks.

Fix: read the source again, with ``encoding="utf-8"``: what was written is lost.

Source: general; tables of databases in latin1.
"""

from ftlab.faults.fault import Case, Fault
from ftlab.faults.rows import looked_at, one_in, pairs

SAID = "Он спросил, который теперь час."
"""A sentence of letters that ASCII does not have."""


def build(fixed: bool) -> Case:
    """Write some answers in ASCII."""
    rows, broken = pairs(), one_in(10)
    for at in broken:
        kept = SAID if fixed else SAID.encode("ascii", "replace").decode()
        rows[at]["completion"] = f"{rows[at]['completion']} {kept}"
    spots = [f"row {at} completion character *" for at in broken]
    return looked_at(rows, spots=spots)


FAULT = Fault(
    "letters-became-question-marks",
    "the model answers in question marks",
    code="DAT063",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
