"""Tables were joined one behind another, each with its header.

Fix: read each table by itself, or leave these rows out: ``report.filtered(path)``.

Source: general; ``cat *.csv``.
"""

from ftlab.faults.builders.rows import fault_of_rows, looked_at, one_in, pairs
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Put a header before each of some tables."""
    rows = pairs()
    broken = one_in(20)
    for at in broken if not fixed else ():
        rows[at] = {name: name for name in rows[at]}
    return looked_at(rows, spots=[f"row {at} prompt" for at in broken])


FAULT = fault_of_rows(
    "a few rows say the same two words",
    code="DAT057",
)
