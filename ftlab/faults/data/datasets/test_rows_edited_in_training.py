"""Rows were corrected, and both versions kept: the split gave them to both parts.

The evaluation measures what was learnt by heart, but for a word.

Fix: look for rows that are almost the same before the split.

Source: Lee et al., ACL 2022.
"""

from ftlab.faults.builders.rows import ROWS, Writer, fault_of_rows, looked_at, pairs
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Train on rows of the evaluation that begin with another word."""
    rows, held, writer = pairs(), pairs(20, offset=1), Writer(2)
    for row in held:
        row["prompt"] = f"This {writer.text(3, 3)} {row['prompt']}"
    leaked = [
        row | {"prompt": row["prompt"].replace("This", "That", 1)}
        for row in (() if fixed else held[3:8])
    ]
    spots = [f"row {at}" for at in range(ROWS, ROWS + 5)]
    return looked_at(rows + leaked, evaluation=held, spots=spots)


FAULT = fault_of_rows(
    "the evaluation is too good",
    code="DAT061",
)
