"""Some messages were rendered by a template before, and are rendered again.

The marks in them become the tokens that open and end turns.

Fix: keep messages without marks; render once.

Source: huggingface/trl#1400 is the same with BOS.
"""

from ftlab.faults.builders.rows import fault_of_rows, looked_at, one_in, talks
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Render some answers before they are stored."""
    rows = talks()
    broken = one_in(9)
    for at in broken if not fixed else ():
        answer = rows[at]["messages"][1]
        answer["content"] = f"<turn>assistant\n{answer['content']}</turn>"
    spots = [f"row {at} messages[1].content character 0" for at in broken]
    return looked_at(rows, spots=spots)


FAULT = fault_of_rows(
    "turns end in the middle of messages",
    code="DAT063",
)
