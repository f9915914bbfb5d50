"""The labels were typed, and some were misspelt.

Fix: choose labels from a list; count them before a training.

Source: general; sheets that several people fill in.
"""

from ftlab.faults.fault import Case, Fault
from ftlab.faults.rows import Writer, looked_at

CLASSES = ("report", "letter")
WRONG = {31: "reprot", 94: "lettr", 150: "repport"}


def build(fixed: bool) -> Case:
    """Write two classes, some of them with a wrong letter."""
    writer = Writer()
    rows = [
        {"text": writer.text(), "label": CLASSES[writer.number(2)]} for _ in range(200)
    ]
    for at, label in WRONG.items() if not fixed else ():
        rows[at]["label"] = label
    return looked_at(rows, spots=[f"row {at}" for at in WRONG])


FAULT = Fault(
    "labels-typed-by-hand",
    "the model knows more classes than there are",
    code="DAT097",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
