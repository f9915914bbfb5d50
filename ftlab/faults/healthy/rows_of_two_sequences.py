"""Rows of tokens for a model that reads one text and writes another."""

from ftlab.faults.fault import Case, Healthy
from ftlab.faults.row_forms import tokenised
from ftlab.faults.rows import looked_at


def build() -> Case:
    """Keep only the answer's labels; one row has none that count."""
    rows = tokenised(200)
    for row in rows:
        row["labels"] = [label for label in row["labels"] if label != -100]
    rows[7]["labels"] = [-100] * 4
    return looked_at(rows)


HEALTHY = Healthy(
    "rows-of-two-sequences",
    "labels are shorter than the ids",
    looks_like=("DAT099",),
    builder=build,
    steps=0,
)
