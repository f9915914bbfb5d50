"""Rows of the evaluation are in the training in other spelling.

Fix: look for copies that are almost the same before the split.

Source: Lee et al., ACL 2022.
"""

from ftlab.faults.builders.rows import ROWS, fault_of_rows, looked_at, pairs, respelt
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Train on rows of the evaluation in capitals."""
    rows, held = pairs(), pairs(20, offset=1)
    leaked = [] if fixed else [respelt(row) for row in held[3:6]]
    spots = [f"row {at}" for at in range(ROWS, ROWS + 3)]
    return looked_at(rows + leaked, evaluation=held, spots=spots)


FAULT = fault_of_rows(
    "the evaluation is too good",
    code="DAT061",
)
