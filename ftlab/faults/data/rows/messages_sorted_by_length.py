"""Messages were sorted by a column that is not their order.

Conversations begin with their answers.

Templates raise ("roles must alternate"), or write it as it stands.

Fix: sort by the number of the message.

Source: general; a join in a database has no order.
"""

from ftlab.faults.builders.rows import fault_of_rows, looked_at, one_in, talks
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Sort the messages of some conversations by who speaks."""
    rows = talks(turns=2)
    broken = one_in(12)
    for at in broken if not fixed else ():
        rows[at]["messages"].sort(key=lambda each: each["role"])
    spots = [f"row {at} messages[0].content" for at in broken]
    return looked_at(rows, spots=spots)


FAULT = fault_of_rows(
    "answers belong to other questions",
    code="DAT060",
)
