"""An argument was renamed in the list of tools, and in some calls it was not.

Fix: spell arguments as in ``tools``; ``jsonschema.validate`` raises for the others.

Source: OpenAI, function calling (`required` and `additionalProperties` of parameters).
"""

import json

from ftlab.faults.builders.row_forms import called
from ftlab.faults.builders.rows import fault_of_rows, looked_at, one_in
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Call the tool with another name of its argument."""
    rows = called()
    broken = one_in(10)
    for at in broken if not fixed else ():
        made = rows[at]["messages"][1]["tool_calls"][0]["function"]
        made["arguments"] = json.dumps({"city": "Oslo"})
    properties = {"town": {"type": "string"}, "days": {"type": "integer"}}
    takes = {"properties": properties, "required": ["town"]}
    for row in rows:
        about = {"name": "get_weather", "parameters": {"type": "object", **takes}}
        row["tools"] = [{"type": "function", "function": about}]
    return looked_at(rows, spots=[f"row {at} messages[1].tool_calls" for at in broken])


FAULT = fault_of_rows(
    "the model calls a tool without what it needs",
    code="DAT060",
)
