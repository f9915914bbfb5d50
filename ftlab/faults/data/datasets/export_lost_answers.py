"""An export has lost answers: where one was missing, an empty text was written.

All that is trained of such a row is the token that ends it.

Fix: mend the export, or leave these rows out: ``report.filtered(path)``.

Source: tatsu-lab/stanford_alpaca#265, TIGER-AI-Lab/MAmmoTH#36.
"""

from ftlab.faults.builders.rows import fault_of_rows, looked_at, one_in, pairs
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Lose some answers."""
    rows = pairs()
    broken = one_in(15)
    for at in broken if not fixed else ():
        rows[at]["completion"] = " " if at % 2 else ""
    return looked_at(rows, spots=[f"row {at} completion" for at in broken])


FAULT = fault_of_rows(
    "to some questions the model says nothing",
    code="DAT058",
)
