"""Sentences that were right before they were corrected, and texts with classes."""

from ftlab.faults.builders.rows import Writer, looked_at
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Correct two sentences of three, or one, and leave the others as they are."""
    writer, corrected = Writer(1), []
    for at in range(240):
        right = writer.sentence()
        wrong = right.replace(" the ", " teh ")
        if at % 2:
            corrected.append({"source": wrong if at % 3 else right, "target": right})
        else:
            corrected.append({"input": right if at % 3 else wrong, "output": right})
    numbers = [{"text": writer.text(), "labels": [0, 1][: at % 3]} for at in range(60)]
    return looked_at([*corrected, *numbers])


HEALTHY = Healthy(
    "answers that are their input, and lists of labels of several lengths",
    looks_like=("DAT066",),
    steps=0,
)
