"""Results were joined to conversations by their place, and some moved by one.

Fix: join results to calls by ``tool_call_id``.

Source: general; APIs refuse such a conversation, trainings do not.
"""

from ftlab.faults.builders.row_forms import called
from ftlab.faults.builders.rows import fault_of_rows, looked_at, one_in
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Give some rows the result of the row before them."""
    rows = called()
    broken = one_in(12)
    for at in broken if not fixed else ():
        rows[at]["messages"][2]["tool_call_id"] = f"call{at - 1}"
    places = [f"row {at} messages[2].tool_call_id" for at in broken]
    return looked_at(rows, spots=places)


FAULT = fault_of_rows(
    "answers do not fit the calls",
    code="DAT060",
)
