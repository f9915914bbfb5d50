"""All columns of a table were written into the prompt, the label among them.

The model reads it off, and has nothing to read when it is used.

Fix: take the field out of the prompt.

Source: Kaufman et al., "Leakage in Data Mining", TKDD 2012.
"""

from ftlab.faults.builders.rows import ROWS, Writer, fault_of_rows, looked_at
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Write the label into the prompt."""
    writer, queues = Writer(), ("billing", "shipping", "refund", "other")
    rows = []
    for at in range(ROWS):
        queue = queues[writer.number(4)]
        told = f"id: {at}, queue: {queue}" if not fixed else f"id: {at}"
        rows.append({"prompt": f"{writer.text()} ({told})", "completion": queue})
    return looked_at(rows, spots=["row * prompt character *"])


FAULT = fault_of_rows(
    "accuracy is 100 % at once",
    code="DAT066",
)
