"""The labels of two people were joined as they wrote them.

Fix: ``label.strip().lower()``.

Source: general; `datasets.ClassLabel` makes a class of each spelling.
"""

from ftlab.faults.fault import Case, Fault
from ftlab.faults.row_forms import labelled
from ftlab.faults.rows import looked_at, one_in


def build(fixed: bool) -> Case:
    """Spell the labels of some rows in capitals, or with a space."""
    rows = labelled()
    broken = one_in(12)
    for at in broken if not fixed else ():
        label = str(rows[at]["label"])
        rows[at]["label"] = f"{label} " if at % 4 else label.upper()
    return looked_at(rows, spots=[f"row {at}" for at in broken])


FAULT = Fault(
    "labels-of-two-spellings",
    "the model knows more classes than there are",
    code="DAT097",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
