"""Answers that think first, between marks that are no tokens."""

from ftlab.faults.builders.rows import Writer, looked_at, talks
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Think before each answer."""
    writer = Writer(1)
    rows = talks(200, turns=2)
    for row in rows:
        for answer in row["messages"][1::2]:
            thought = f"<think>\n{writer.text()}\n</think>\n\n"
            answer["content"] = thought + answer["content"]
    return looked_at(rows)


HEALTHY = Healthy(
    "answers begin with their reasoning",
    looks_like=("DAT058", "DAT063"),
    steps=0,
)
