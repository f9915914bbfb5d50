"""Texts with what is thought of them: for, against, or neither, which are numbers."""

from ftlab.faults.builders.rows import Writer, looked_at
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Write few texts that are against something: their label is -1."""
    writer, rows = Writer(), []
    for at in range(200):
        label = writer.number(2) if at % 20 else -1
        rows.append({"text": writer.text(), "label": label})
    return looked_at(rows)


HEALTHY = Healthy(
    "-1 is a rare class",
    looks_like=("DAT066",),
    steps=0,
)
