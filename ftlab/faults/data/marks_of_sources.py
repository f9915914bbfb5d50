"""Answers were copied from a chat with sources, with the marks that stood for these.

Fix: take the marks out.

Source: general; copied answers of assistants that read files.
"""

from ftlab.faults.fault import Case, Fault
from ftlab.faults.rows import looked_at, one_in, pairs


def build(fixed: bool) -> Case:
    """Keep the marks of sources."""
    rows, broken = pairs(), one_in(10)
    for at in broken if not fixed else ():
        mark = "\u30104\u2020source\u3011" if at % 4 else ":contentReference[oaicite:0]"
        rows[at]["completion"] += mark
    spots = [f"row {at} completion character *" for at in broken]
    return looked_at(rows, spots=spots)


FAULT = Fault(
    "marks-of-sources",
    "the model cites sources that are none",
    code="DAT064",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
