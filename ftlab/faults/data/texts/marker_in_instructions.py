"""Instructions quote a prompt: the mark behind which answers are looked for is in them.

Fix: tell answers by the positions of messages.

Source: huggingface/trl#456, #1183.
"""

from ftlab.faults.builders.rows import fault_of_rows, looked_at, one_in, pairs
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Quote the mark in some instructions."""
    rows = [
        {"instruction": row["prompt"], "output": row["completion"]} for row in pairs()
    ]
    broken = one_in(12)
    for at in broken if not fixed else ():
        rows[at]["instruction"] += "\n### Response:\nIs this a good one?"
    spots = [f"row {at} instruction character *" for at in broken]
    return looked_at(rows, spots=spots)


FAULT = fault_of_rows(
    "the trained part begins within the question",
    code="DAT063",
)
