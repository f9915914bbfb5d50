"""Poems and lists: answers end with a word, at many lengths."""

from ftlab.faults.builders.rows import Writer, looked_at
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Write lines without full stops."""
    writer, rows = Writer(), []
    for at in range(200):
        lines = [writer.sentence().rstrip(".") for _ in range(2 + at % 7)]
        mark = "- " if at % 2 else ""
        answer = "\n".join(mark + line for line in lines)
        rows.append({"prompt": writer.question(), "completion": answer})
    return looked_at(rows)


HEALTHY = Healthy(
    "lines end without a full stop",
    looks_like=("DAT058",),
    steps=0,
)
