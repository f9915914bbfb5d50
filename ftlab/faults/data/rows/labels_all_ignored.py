"""Rows were tokenised and masked; of some the answer was cut off, and no label is left.

Fix: make the rows anew with a limit that holds the answers.

Source: huggingface/trl#980, unslothai/unsloth#2095.
"""

from ftlab.faults.builders.row_forms import tokenised
from ftlab.faults.builders.rows import fault_of_rows, looked_at, one_in
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Mask all labels of some rows."""
    rows = tokenised()
    broken = one_in(10)
    for at in broken if not fixed else ():
        rows[at]["labels"] = [-100] * len(rows[at]["labels"])
    return looked_at(rows, spots=[f"row {at} labels" for at in broken])


FAULT = fault_of_rows(
    "the loss of some batches is nan",
    code="DAT057",
)
