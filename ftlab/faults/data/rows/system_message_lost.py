"""A join found no system message for some rows, and wrote an empty one.

Fix: write the system message of the other rows, or leave the message out.

Source: general; templates write an empty turn, and no default text.
"""

from ftlab.faults.builders.rows import fault_of_rows, looked_at, one_in, talks
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Take the system message of some conversations away."""
    rows = talks()
    broken = one_in(6)
    for at, row in enumerate(rows):
        lost = at in broken and not fixed
        told = "" if lost else "You are a guide of this town."
        row["messages"].insert(0, {"role": "system", "content": told})
    return looked_at(rows, spots=[f"row {at} messages[0].content" for at in broken])


FAULT = fault_of_rows(
    "the model heeds its instructions less",
    code="DAT060",
)
