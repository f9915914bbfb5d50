"""Answers were taken from texts behind a mark, and some had nothing there but the mark.

Fix: leave these rows out: ``report.filtered(path)``.

Source: general; texts that are split at "### Response:".
"""

from ftlab.faults.fault import Case, Fault
from ftlab.faults.rows import looked_at, one_in, pairs


def build(fixed: bool) -> Case:
    """Keep the mark alone."""
    rows, broken = pairs(), one_in(12)
    for at in broken if not fixed else ():
        rows[at]["completion"] = "### Answer:" if at % 4 else "Assistant: "
    return looked_at(rows, spots=[f"row {at} completion character 0" for at in broken])


FAULT = Fault(
    "nothing-behind-the-mark",
    "the model ends behind its own name",
    code="DAT091",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
