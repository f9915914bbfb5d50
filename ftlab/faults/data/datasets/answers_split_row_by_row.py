"""Several answers to one question were split row by row.

Each question is in both parts.

Fix: split by groups of equal prompts.

Source: general.
"""

from ftlab.faults.builders.rows import ROWS, Writer, fault_of_rows, looked_at, pairs
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Train on other answers to the questions of the evaluation."""
    writer, asked = Writer(2), pairs(20, offset=1)
    rows, held = pairs(), asked[:8]
    leaked = [
        {"prompt": row["prompt"], "completion": writer.text()} for row in held[:6]
    ]
    leaked = pairs(6, offset=3) if fixed else leaked
    spots = [f"row {at}" for at in range(ROWS, ROWS + 6)]
    return looked_at(rows + leaked, evaluation=held, spots=spots)


FAULT = fault_of_rows(
    "the evaluation knows all questions",
    code="DAT061",
)
