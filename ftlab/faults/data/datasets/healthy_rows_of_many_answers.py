"""Several different answers to each question, as a teacher's samples are."""

from ftlab.faults.builders.rows import Writer, looked_at
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Answer each question in five ways."""
    writer = Writer()
    asked = [writer.question() for _ in range(40)]
    rows = [{"prompt": each, "completion": writer.text()} for each in asked * 5]
    return looked_at(rows)


HEALTHY = Healthy(
    "each question stands there five times",
    looks_like=("DAT061",),
    steps=0,
)
