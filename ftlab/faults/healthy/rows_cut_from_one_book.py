"""A book in order: each row asks to go on, and quotes what the row before answered."""

import random

from ftlab.faults.fault import Case, Healthy
from ftlab.faults.rows import Writer, looked_at

ROWS, QUOTED = 240, 300


def build() -> Case:
    """Cut a text that goes on from row to row; each part names somebody new."""
    writer, drawn, rows, before = Writer(), random.Random(7), [], "Once upon a time."
    for _ in range(ROWS):
        name = "".join(drawn.choices("bdfgklmnprstaeiou", k=9))
        part = f"{name} came to the market. {writer.text()}"
        prompt = f"Go on with this story:\n{before[-QUOTED:]}"
        rows.append({"prompt": prompt, "completion": part})
        before = f"{before} {part}"
    return looked_at(rows)


HEALTHY = Healthy(
    "rows-cut-from-one-book",
    "each prompt holds the words of the answer before it",
    looks_like=("DAT100",),
    builder=build,
    steps=0,
)
