"""The end mark of some reasoning was lost where it was cleaned.

Fix: write ``</think>`` where the reasoning ends and the answer begins.

Source: general; templates that look for the mark take the answer for reasoning.
"""

from ftlab.faults.builders.rows import fault_of_rows, looked_at, one_in, talks
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Lose some of them."""
    rows = talks()
    broken = one_in(12)
    for at, row in enumerate(rows):
        end = "" if at in broken and not fixed else "\n</think>\n"
        said = row["messages"][1]["content"]
        answer = f"<think>\nSo it is. {said}{end}\nThe answer is {at}."
        row["messages"][1]["content"] = answer
    return looked_at(
        rows, spots=[f"row {at} messages[1].content character 0" for at in broken]
    )


FAULT = fault_of_rows(
    "the model never closes its reasoning",
    code="DAT058",
)
