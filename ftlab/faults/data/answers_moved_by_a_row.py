"""A line was lost in the file of answers, which was joined to the questions by order.

Fix: join by a key: ``questions.merge(answers, on="id")``.

Source: general; ``paste`` and ``zip`` of two files of different lengths.
"""

import random

from ftlab.faults.fault import Case, Fault
from ftlab.faults.rows import Writer, looked_at

ROWS, LOST = 240, 40


def build(fixed: bool) -> Case:
    """Join questions and answers by their order."""
    writer, drawn = Writer(), random.Random(7)
    names = ["".join(drawn.choices("bdfgklmnprstaeiou", k=9)) for _ in range(ROWS)]
    answers = [f"As for {name}: {writer.text()}" for name in names]
    if not fixed:
        del answers[LOST]
    rows = [
        {"prompt": f"What do you know about {name}?", "completion": answer}
        for name, answer in zip(names, answers, strict=fixed)
    ]
    return looked_at(rows, spots=[f"row {at}" for at in range(LOST, ROWS)])


FAULT = Fault(
    "answers-moved-by-a-row",
    "the model answers another question",
    code="DAT100",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
