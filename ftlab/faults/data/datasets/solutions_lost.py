"""An export has lost some of the solutions that a reward compares with.

Fix: mend the export, or leave these rows out: ``report.filtered(path)``.

Source: general; TRL hands such a column to the reward function as it is.
"""

from ftlab.faults.builders.rows import ROWS, Writer, fault_of_rows, looked_at, one_in
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Lose some of them."""
    writer, broken, rows = Writer(), one_in(12), []
    for at in range(ROWS):
        solution = "" if at in broken and not fixed else str(writer.number(999))
        rows.append({"prompt": writer.question(), "solution": solution})
    return looked_at(rows, spots=[f"row {at} solution" for at in broken])


FAULT = fault_of_rows(
    "some groups of answers have no reward",
    code="DAT058",
)
