"""Answers were cut out of written-out talks, and kept the mark before them.

Fix: take the mark away: ``re.sub(r"^(Assistant|AI): ", "", text)``.

Source: general; completions that are split from prompts one line too early.
"""

from ftlab.faults.fault import Case, Fault
from ftlab.faults.rows import looked_at, one_in, pairs


def build(fixed: bool) -> Case:
    """Keep the mark of some answers."""
    rows, broken = pairs(), one_in(12)
    for at in broken if not fixed else ():
        mark = "Assistant: " if at % 4 else "### Response:\n"
        rows[at]["completion"] = mark + rows[at]["completion"]
    return looked_at(rows, spots=[f"row {at} completion character 0" for at in broken])


FAULT = Fault(
    "marks-left-before-answers",
    "the model begins its answers with Assistant:",
    code="DAT064",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
