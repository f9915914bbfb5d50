"""A file was joined to the others twice.

Its rows count double. Split afterwards, they are in training and evaluation both.

Fix: ``report.filtered(path)`` leaves the later ones out.

Source: Lee et al., ACL 2022.
"""

from ftlab.faults.builders.rows import ROWS, fault_of_rows, looked_at, talks
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Join the first rows once more."""
    rows = talks()
    again = talks(12, offset=1) if fixed else rows[:12]
    spots = [f"row {at}" for at in range(ROWS, ROWS + 12)]
    return looked_at(rows + again, spots=spots)


FAULT = fault_of_rows(
    "some rows are learnt by heart at once",
    code="DAT061",
)
