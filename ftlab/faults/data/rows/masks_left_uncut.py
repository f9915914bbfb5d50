"""Ids were cut to a limit, and the mask beside them was not.

Fix: cut all columns alike: ``truncation=True`` of the tokenizer does.

Source: general.
"""

from ftlab.faults.builders.row_forms import tokenised
from ftlab.faults.builders.rows import fault_of_rows, looked_at, one_in
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Cut the ids of some rows."""
    rows = tokenised()
    broken = one_in(12)
    for at in broken if not fixed else ():
        for name in ("input_ids", "labels"):
            rows[at][name] = rows[at][name][:-4]
    return looked_at(rows, spots=[f"row {at} attention_mask" for at in broken])


FAULT = fault_of_rows(
    "a batch cannot be stacked",
    code="DAT057",
)
