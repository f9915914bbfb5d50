"""The role of some answers is misspelt.

Templates write the role as it stands, or nothing at all, and nobody takes the message
for an answer.

Fix: rename the role to ``assistant``.

Source: general; ShareGPT's ``gpt``, Gemini's ``model`` and slips.
"""

from ftlab.faults.builders.rows import fault_of_rows, looked_at, one_in, talks
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Misspell the role of some answers."""
    rows = talks()
    broken = one_in(11)
    for at in broken if not fixed else ():
        rows[at]["messages"][1]["role"] = "assitant"
    spots = [f"row {at} messages[1].content" for at in broken]
    return looked_at(rows, spots=spots)


FAULT = fault_of_rows(
    "a part of the answers is not trained",
    code="DAT060",
)
