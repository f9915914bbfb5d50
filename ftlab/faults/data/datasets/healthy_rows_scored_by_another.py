"""Preferences of people beside the scores of a model, which disagrees in a third."""

from ftlab.faults.builders.row_forms import scored
from ftlab.faults.builders.rows import looked_at
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Score every third pair the other way round; the sides hold the question."""
    rows = scored(200)
    for at, row in enumerate(rows):
        if at % 3 == 0:
            row["score_chosen"] = row["score_rejected"] - 1
        asked = {"role": "user", "content": row.pop("prompt")}
        for side in ("chosen", "rejected"):
            row[side] = [asked, {"role": "assistant", "content": row[side]}]
    return looked_at(rows)


HEALTHY = Healthy(
    "people chose, and a model gave the scores",
    looks_like=("DAT066",),
    steps=0,
)
