"""A join has given all rows the label of the first one.

Fix: join labels to rows by their id.

Source: general.
"""

from ftlab.faults.builders.row_forms import labelled
from ftlab.faults.builders.rows import fault_of_rows, looked_at
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Give all rows the first one's label."""
    rows = labelled()
    for row in rows if not fixed else ():
        row["label"] = rows[0]["label"]
    return looked_at(rows, spots=["row *"])


FAULT = fault_of_rows(
    "accuracy is 100 % at once",
    code="DAT066",
)
