"""Prompts alone, as a training by rewards wants them: each ends with a question."""

from ftlab.faults.builders.rows import looked_at, talks
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Write questions."""
    rows = [{"prompt": row["messages"][:1]} for row in talks(200)]
    return looked_at(rows)


HEALTHY = Healthy(
    "no row has an answer",
    looks_like=("DAT058", "DAT060"),
    steps=0,
)
