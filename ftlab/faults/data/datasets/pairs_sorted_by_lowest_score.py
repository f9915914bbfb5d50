"""Of some pairs the answer with the lower score was taken as the chosen one.

Fix: exchange the two texts of these rows.

Source: general; Ouyang et al., NeurIPS 2022, on how pairs are made.
"""

from ftlab.faults.builders.row_forms import scored
from ftlab.faults.builders.rows import fault_of_rows, looked_at, one_in
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Exchange the scores of some pairs."""
    rows = scored()
    broken = one_in(10)
    for at in broken if not fixed else ():
        row = rows[at]
        scores = row["score_rejected"], row["score_chosen"]
        row["score_chosen"], row["score_rejected"] = scores
    return looked_at(rows, spots=[f"row {at} score_chosen" for at in broken])


FAULT = fault_of_rows(
    "the model prefers the worse answers",
    code="DAT066",
)
