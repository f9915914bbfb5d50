"""Translations of two directions were joined under the names of one.

Fix: exchange the two columns in these rows.

Source: general; OPUS has a file for each direction.
"""

from ftlab.faults.fault import Case, Fault
from ftlab.faults.rows import looked_at, one_in
from ftlab.faults.task_rows import translated


def build(fixed: bool) -> Case:
    """Exchange the sides of some rows."""
    rows = translated()
    broken = one_in(12, len(rows))
    for at in broken if not fixed else ():
        rows[at] = {"en": rows[at]["eo"], "eo": rows[at]["en"]}
    return looked_at(rows, spots=[f"row {at}" for at in broken])


FAULT = Fault(
    "files-of-two-directions",
    "it answers in the language of the question",
    code="DAT100",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
