"""The rows were split before their copies were taken out: some are in both parts.

The evaluation measures what was learnt by heart.

Fix: take copies out first, then split.

Source: Lee et al., ACL 2022.
"""

from ftlab.faults.builders.rows import ROWS, fault_of_rows, looked_at, talks
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Train on some rows of the evaluation."""
    rows, held = talks(), talks(20, offset=1)
    leaked = [] if fixed else held[3:8]
    spots = [f"row {at}" for at in range(ROWS, ROWS + 5)]
    return looked_at(rows + leaked, evaluation=held, spots=spots)


FAULT = fault_of_rows(
    "the evaluation is far too good",
    code="DAT061",
)
