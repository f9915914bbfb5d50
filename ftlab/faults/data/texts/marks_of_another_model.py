"""Messages hold the marks of another model's template: they are words to this one.

Fix: take them out; the model's own template writes its own marks.

Source: general; rows that were rendered for Llama 2 and taken apart again.
"""

from ftlab.faults.builders.rows import fault_of_rows, looked_at, one_in, talks
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Keep some marks."""
    rows, broken = talks(), one_in(10)
    for at in broken if not fixed else ():
        asked, answer = rows[at]["messages"]
        asked["content"] = f"[INST] {asked['content']} [/INST]"
        answer["content"] += " </s>"
    spots = [f"row {at} messages[0].content character 0" for at in broken]
    return looked_at(rows, spots=spots)


FAULT = fault_of_rows(
    "the model writes [INST]",
    code="DAT063",
)
