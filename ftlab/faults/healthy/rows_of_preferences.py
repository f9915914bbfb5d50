"""Preferences: two answers that have all but their last sentence in common."""

from ftlab.faults.fault import Case, Healthy
from ftlab.faults.rows import Writer, looked_at


def build() -> Case:
    """Write pairs that part in their last sentence."""
    writer, rows = Writer(), []
    for _ in range(200):
        begin = writer.text(3, 4)
        sides = (f"{begin} {writer.sentence()}" for _ in range(2))
        rows.append(
            {"prompt": writer.question()}
            | dict(zip(("chosen", "rejected"), sides, strict=True))
        )
    return looked_at(rows)


HEALTHY = Healthy(
    "rows-of-preferences",
    "both answers begin alike",
    looks_like=("DAT061", "DAT067"),
    builder=build,
    steps=0,
)
