"""Answers that think first, between marks that are no tokens, and calculate roughly."""

from ftlab.faults.fault import Case, Healthy
from ftlab.faults.rows import Writer, looked_at, talks


def build() -> Case:
    """Think before each answer."""
    writer = Writer(1)
    rows = talks(200, turns=2)
    for row in rows:
        for answer in row["messages"][1::2]:
            thought = f"<think>\n{writer.text()}\n</think>\n\n"
            one, two = 10 + writer.number(80), 3 + writer.number(9)
            work = f" That is <<{one}/{two}={one / two:.3g}>>{one / two:.3g} each."
            answer["content"] = thought + answer["content"] + work
    return looked_at(rows)


HEALTHY = Healthy(
    "rows-that-reason",
    "answers begin with their reasoning, and round what they work out",
    looks_like=("DAT059", "DAT064", "DAT101"),
    builder=build,
    steps=0,
)
