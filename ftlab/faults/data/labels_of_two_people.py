"""Some texts were labelled by two people, who did not agree; both rows were kept.

Fix: decide on one label for each text.

Source: Northcutt et al., "Pervasive Label Errors in Test Sets", NeurIPS 2021.
"""

from ftlab.faults.fault import Case, Fault
from ftlab.faults.row_forms import QUEUES, labelled
from ftlab.faults.rows import ROWS, looked_at


def build(fixed: bool) -> Case:
    """Label some texts once more."""
    rows = labelled()
    again = range(0, ROWS, 15)
    for at in again if not fixed else ():
        other = QUEUES[QUEUES.index(str(rows[at]["label"])) - 1]
        rows.append({"text": rows[at]["text"], "label": other})
    count = len(range(0, ROWS, 15))
    return looked_at(rows, spots=[f"row {ROWS + at}" for at in range(count)])


FAULT = Fault(
    "labels-of-two-people",
    "accuracy does not rise above a bound",
    code="DAT097",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
