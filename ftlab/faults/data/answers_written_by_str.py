"""Answers are to be JSON, and some were written by ``str``.

Fix: ``json.dumps(value)``.

Source: general; ``f"{value}"`` of a dictionary has single quotes, None and True.
"""

import json

from ftlab.faults.fault import Case, Fault
from ftlab.faults.rows import looked_at, one_in, pairs


def build(fixed: bool) -> Case:
    """Answer with what a text says, in fields."""
    rows, broken = pairs(), one_in(12)
    for at, row in enumerate(rows):
        value = {"said": row["completion"], "page": None}
        by_str = at in broken and not fixed
        row["completion"] = str(value) if by_str else json.dumps(value)
    return looked_at(rows, spots=[f"row {at}" for at in broken])


FAULT = Fault(
    "answers-written-by-str",
    "no program can read what the model writes",
    code="DAT063",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
