"""The column of completions holds the whole text: prompt and answer.

The prompt is seen twice, and trained once.

Fix: ``row["completion"].removeprefix(row["prompt"])``.

Source: general; TRL joins prompt and completion.
"""

from ftlab.faults.builders.rows import ROWS, fault_of_rows, looked_at, pairs
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Write prompt and answer into the completion."""
    rows = pairs()
    for row in rows if not fixed else ():
        row["completion"] = f"{row['prompt']} {row['completion']}"
    spots = [f"row {at} completion character 0" for at in range(ROWS)]
    return looked_at(rows, spots=spots)


FAULT = fault_of_rows(
    "the model repeats each question",
    code="DAT066",
)
