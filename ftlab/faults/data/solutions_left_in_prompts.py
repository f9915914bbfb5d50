"""Some prompts of a training by rewards end with their own solution.

The reward is given for copying, and the curve looks fine.

Fix: take the solution off the prompt, or leave these rows out.

Source: general; rows of a supervised training were turned into prompts.
"""

from ftlab.faults.fault import Case, Fault
from ftlab.faults.rows import ROWS, Writer, looked_at, one_in


def build(fixed: bool) -> Case:
    """Leave the solution behind some questions."""
    writer, broken, rows = Writer(), one_in(8), []
    for at in range(ROWS):
        asked, solution = writer.question(), writer.text(2, 3)
        left = f"\n\n{solution}" if at in broken and not fixed else ""
        rows.append({"prompt": asked + left, "solution": solution})
    return looked_at(rows, spots=[f"row {at} prompt" for at in broken])


FAULT = Fault(
    "solutions-left-in-prompts",
    "rewards are high from the beginning",
    code="DAT066",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
