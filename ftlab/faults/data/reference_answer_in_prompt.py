"""Prompts were made for a judge: the answer that it compares with stands in them.

Fix: take the reference out of the prompt.

Source: Kaufman et al., "Leakage in Data Mining", TKDD 2012.
"""

from ftlab.faults.fault import Case, Fault
from ftlab.faults.rows import looked_at, one_in, pairs


def build(fixed: bool) -> Case:
    """Write the answer behind some questions."""
    rows = pairs()
    for at in one_in(4) if not fixed else ():
        rows[at]["prompt"] += f"\n\nReference answer: {rows[at]['completion']}"
    return looked_at(rows, spots=["row * prompt character *"])


FAULT = Fault(
    "reference-answer-in-prompt",
    "the loss is near 0 at once",
    code="DAT066",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
