"""A tool was renamed in the list of tools, and in some calls it was not.

Fix: spell the tool as in ``tools``.

Source: general; names are matched to the letter.
"""

from ftlab.faults.builders.row_forms import called
from ftlab.faults.builders.rows import fault_of_rows, looked_at, one_in
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Call the tool by another name."""
    rows = called()
    broken = one_in(10)
    for at in broken if not fixed else ():
        rows[at]["messages"][1]["tool_calls"][0]["function"]["name"] = "getWeather"
    return looked_at(rows, spots=[f"row {at} messages[1].tool_calls" for at in broken])


FAULT = fault_of_rows(
    "the model calls a tool that is not there",
    code="DAT060",
)
