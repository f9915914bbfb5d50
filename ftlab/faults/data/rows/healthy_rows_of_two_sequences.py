"""Rows of tokens for a model that reads one text and writes another."""

from ftlab.faults.builders.row_forms import tokenised
from ftlab.faults.builders.rows import looked_at
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Keep only the answer's labels; one row has none, one a single one."""
    rows = tokenised(200)
    for row in rows:
        row["labels"] = [label for label in row["labels"] if label != -100]
    rows[7]["labels"] = [-100] * 4
    ids = rows[8]["input_ids"]
    rows[8]["labels"] = [-100] * (len(ids) - 3) + [ids[-2], -100, -100]
    rows[9]["input_ids"] = [ids[0]] + [ids[5]] * (len(rows[9]["attention_mask"]) - 1)
    rows[9]["labels"] = [*rows[9]["input_ids"][1:], -100]
    return looked_at(rows)


HEALTHY = Healthy(
    "labels are shorter than the ids",
    looks_like=("DAT057",),
    steps=0,
)
