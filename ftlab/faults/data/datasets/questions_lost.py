"""An export has lost the questions of some rows, and kept their answers.

Fix: mend the export, or leave these rows out.

Source: general.
"""

from ftlab.faults.builders.rows import fault_of_rows, looked_at, one_in, pairs
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Lose some questions."""
    rows = pairs()
    broken = one_in(20)
    for at in broken if not fixed else ():
        rows[at]["prompt"] = ""
    return looked_at(rows, spots=[f"row {at} prompt" for at in broken])


FAULT = fault_of_rows(
    "the model answers before it is asked",
    code="DAT058",
)
