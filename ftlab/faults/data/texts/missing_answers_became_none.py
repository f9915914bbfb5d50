"""Missing answers became the text "None" where a column was made text.

Fix: leave out rows whose answer ``is None`` before ``str`` is called.

Source: general; ``str(row["answer"])`` of rows of a database.
"""

from ftlab.faults.builders.rows import looked_at, one_in, pairs
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Make a column text."""
    rows, broken = pairs(), one_in(15)
    for at in broken if not fixed else ():
        rows[at]["completion"] = str(None) if at % 4 else "N/A"
    return looked_at(rows, spots=[f"row {at} completion" for at in broken])


FAULT = Fault(
    "missing-answers-became-none",
    "the model answers None",
    code="DAT058",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
