"""Calls without ids, with arguments that are a record, nothing, or no JSON at all."""

from ftlab.faults.builders.row_forms import called
from ftlab.faults.builders.rows import looked_at
from ftlab.faults.fault import Case, Healthy

ARGUMENTS = ({"town": "Oslo"}, "", "print(1 + 1)", '{"code": "a = [1]\\nb = {2}"}')
"""What tools are called with."""


def build() -> Case:
    """Call tools in four ways."""
    rows = called(200)
    for at, row in enumerate(rows):
        call = row["messages"][1]["tool_calls"][0]
        del call["id"]
        call["function"]["arguments"] = ARGUMENTS[at % 4]
        call["function"]["name"] = "functions.get_weather" if at % 2 else "book_table"
    return looked_at(rows)


HEALTHY = Healthy(
    "arguments in four forms, and names with a prefix",
    looks_like=("DAT060",),
    steps=0,
)
