"""Calls were generated up to a limit: the arguments of some are cut off.

Fix: leave these rows out, or make the calls anew with a higher limit.

Source: general; models do not always write valid JSON.
"""

from ftlab.faults.builders.row_forms import called
from ftlab.faults.builders.rows import fault_of_rows, looked_at, one_in
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Cut some arguments off."""
    rows = called()
    broken = one_in(15)
    for at in broken if not fixed else ():
        call = rows[at]["messages"][1]["tool_calls"][0]["function"]
        call["arguments"] = call["arguments"][:-5]
    return looked_at(rows, spots=[f"row {at} messages[1].tool_calls" for at in broken])


FAULT = fault_of_rows(
    "some calls cannot be parsed",
    code="DAT060",
)
