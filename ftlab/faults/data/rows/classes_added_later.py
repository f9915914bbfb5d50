"""A class was added, and labels of before were joined with those of after.

Fix: make all labels anew with one list of classes.

Source: general.
"""

from ftlab.faults.builders.row_forms import classified
from ftlab.faults.builders.rows import fault_of_rows, looked_at, one_in
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Leave the last class out of some rows' labels."""
    rows = classified()
    broken = one_in(12, len(rows))
    for at in broken if not fixed else ():
        rows[at]["labels"].pop()
    return looked_at(rows, spots=[f"row {at} labels" for at in broken])


FAULT = fault_of_rows(
    "the loss raises: sizes of input and target differ",
    code="DAT066",
)
