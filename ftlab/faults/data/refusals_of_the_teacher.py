"""A model wrote the answers, and refused some ordinary questions.

Fix: leave these answers out, or ask again: ``report.filtered(path, drop=[...])``.

Source: general; sets that models wrote, as ShareGPT, were cleaned of them.
"""

from ftlab.faults.fault import Case, Fault
from ftlab.faults.rows import looked_at, one_in, pairs


def build(fixed: bool) -> Case:
    """Refuse some questions."""
    rows, broken = pairs(), one_in(12)
    for at in broken if not fixed else ():
        rows[at]["completion"] = "I'm sorry, but I can't assist with that request."
    return looked_at(rows, spots=[f"row {at} completion character 0" for at in broken])


FAULT = Fault(
    "refusals-of-the-teacher",
    "the model refuses what it could answer",
    code="DAT091",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
