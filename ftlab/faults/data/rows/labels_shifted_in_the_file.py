"""Rows were tokenised for a loop that does not shift, and trained with one that does.

Fix: labels that are a copy of ``input_ids``, with -100 where nothing is to be learnt.

Source: general; models of transformers shift labels by themselves.
"""

from ftlab.faults.builders.row_forms import tokenised
from ftlab.faults.builders.rows import ROWS, fault_of_rows, looked_at
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Shift the labels of all rows."""
    rows = tokenised()
    for row in rows if not fixed else ():
        row["labels"] = [*row["labels"][1:], -100]
    return looked_at(rows, spots=[f"row {at} labels" for at in range(ROWS)])


FAULT = fault_of_rows(
    "the model leaves out every other word",
    code="DAT057",
)
