"""The rejected answers came in another order: some answer the prompt of another pair.

Fix: join both sides by the id of their prompt, or leave these rows out.

Source: general; TRL takes what both sides begin with for the prompt, and finds none.
"""

from ftlab.faults.builders.rows import Writer, fault_of_rows, looked_at, one_in, talks
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Take the rejected side of some pairs from the row behind."""
    writer, rows = Writer(1), []
    for row in talks():
        asked, answered = row["messages"]
        other = {"role": "assistant", "content": writer.text()}
        rows.append({"chosen": [asked, answered], "rejected": [asked, other]})
    broken = one_in(10)
    for at in broken if not fixed else ():
        rows[at]["rejected"] = rows[at + 1]["rejected"]
    return looked_at(rows, spots=[f"row {at} rejected[0].content" for at in broken])


FAULT = fault_of_rows(
    "some margins say nothing",
    code="DAT066",
)
