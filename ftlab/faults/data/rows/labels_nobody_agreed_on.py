"""Rows whose label nobody agreed on were kept, with -1 for a class.

Fix: leave these rows out: ``report.filtered(path)``.

Source: general; SNLI has 1,000 such pairs and more.
"""

from ftlab.faults.builders.rows import Writer, fault_of_rows, looked_at, one_in
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Take the label of some rows away."""
    writer, count = Writer(), 150
    rows = [{"text": writer.text(), "label": writer.number(3)} for _ in range(count)]
    broken = one_in(30, count)
    for at in broken if not fixed else ():
        rows[at]["label"] = -1
    return looked_at(rows, spots=[f"row {at} label" for at in broken])


FAULT = fault_of_rows(
    "a target is out of bounds",
    code="DAT066",
)
