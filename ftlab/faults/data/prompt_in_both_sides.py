"""Both sides of a preference hold the whole text, and there is a column of prompts too.

Fix: take the prompt off both sides, or leave the column out.

Source: trl, dataset formats: "explicit prompt" and "implicit prompt".
"""

from ftlab.faults.fault import Case, Fault
from ftlab.faults.row_forms import scored
from ftlab.faults.rows import looked_at


def build(fixed: bool) -> Case:
    """Write the prompt before both sides."""
    rows = scored()
    for row in rows if not fixed else ():
        for side in ("chosen", "rejected"):
            row[side] = f"{row['prompt']} {row[side]}"
    return looked_at(rows, spots=["row * chosen"])


FAULT = Fault(
    "prompt-in-both-sides",
    "prompts are seen twice",
    code="DAT066",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
