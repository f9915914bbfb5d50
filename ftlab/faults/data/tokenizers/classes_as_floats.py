"""Classes are read as floats, and the classifier takes them for several labels at once.

A column with a gap becomes floats in pandas. "Target size must be the same as input
size" follows, for floats mean one number for each class.

Fix: ``labels.long()``.

Source: general; transformers chooses the loss by the labels' dtype.
"""

from ftlab.faults.builders import Case, Fault, batches, classes, plain_case, roberta


def build(fixed: bool) -> Case:
    """Make floats of the classes."""
    model = roberta()
    rows = classes(batches())
    for row in rows:
        row["labels"] = row["labels"] if fixed else row["labels"].float()
    return plain_case(model, rows=rows)


FAULT = Fault(
    "the first batch ends the run: target size must be the same as input size",
    code="DAT002",
    places=("data labels",),
    evident=-1,
    silent=False,
)
