"""Tools were put into one table: each has the properties of all others, as null.

Fix: keep ``tools`` as a text of JSON; or ``trl.trainer.utils.remove_none_values``, as a
transform of the dataset.

Source: huggingface/trl, ``remove_none_values``; Apache Arrow, fields of a struct.
"""

import json
from typing import Any

from ftlab.faults.builders.row_forms import called
from ftlab.faults.builders.rows import fault_of_rows, looked_at
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Give tools and calls the properties of the other tool, as null."""
    rows = called()
    town: dict[str, Any] = {"town": {"type": "string"}, "days": {"type": "integer"}}
    table: dict[str, Any] = {"seats": {"type": "integer"}}
    if not fixed:
        town, table = town | {"seats": None}, dict.fromkeys(town) | table
    for row in rows:
        row["tools"] = [
            {"type": "function", "function": _taking(each["function"], takes)}
            for each, takes in zip(row["tools"], (town, table), strict=True)
        ]
        function = row["messages"][1]["tool_calls"][0]["function"]
        given = json.loads(function["arguments"])
        function["arguments"] = given if fixed else given | {"seats": None}
    count = len(rows)
    return looked_at(
        rows, spots=[f"row {at} messages[1].tool_calls" for at in range(count)]
    )


def _taking(tool: dict[str, Any], properties: dict[str, Any]) -> dict[str, Any]:
    return tool | {"parameters": {"type": "object", "properties": properties}}


FAULT = fault_of_rows(
    "the model writes arguments that are null, of other tools",
    code="DAT060",
)
