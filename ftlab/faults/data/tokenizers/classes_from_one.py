"""Classes are counted from one, and the loss fails when the last one comes up.

Three classes are 1, 2 and 3 in the file. The model knows 0, 1 and 2, and trains until
it meets the first 3.

Fix: ``labels - 1``, and ``num_labels`` as many as there are classes.

Source: huggingface/transformers#24698.
"""

from ftlab.faults.builders import Case, Fault, batches, classes, plain_case, roberta


def build(fixed: bool) -> Case:
    """Count the classes from one; the last one comes late."""
    model = roberta()
    rows = sorted(classes(batches()), key=lambda batch: int(batch["labels"].max()))
    rows = [row | {"labels": row["labels"].clone()} for row in rows]
    for number, row in enumerate(rows):
        row["labels"] += 0 if fixed else 1
        if number < 2 and not fixed:
            row["labels"] = row["labels"].clamp(max=2)
    return plain_case(model, rows=rows)


FAULT = Fault(
    "the run ends at some step: target 3 is out of bounds",
    code="DAT002",
    places=("token 0 of sample *",),
    steps=8,
    evident=1,
    silent=False,
)
