"""Rows were exported class by class, and are trained on in this order.

Fix: shuffle them before they are trained on or split.

Source: general.
"""

from ftlab.faults.fault import Case, Fault
from ftlab.faults.row_forms import labelled
from ftlab.faults.rows import looked_at


def build(fixed: bool) -> Case:
    """Sort the rows by their label."""
    rows = labelled()
    if not fixed:
        rows.sort(key=lambda row: str(row["label"]))
    return looked_at(rows, spots=["row *"])


FAULT = Fault(
    "rows-class-by-class",
    "the loss jumps as each class begins",
    code="DAT097",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
