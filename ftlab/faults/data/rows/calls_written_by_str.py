"""The arguments of some calls were written by ``str``, and are no JSON.

Fix: ``json.dumps(arguments)``.

Source: general; OpenAI and Mistral want a text of JSON, and a dictionary is at hand.
"""

import json

from ftlab.faults.builders.row_forms import called
from ftlab.faults.builders.rows import fault_of_rows, looked_at, one_in
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Write some arguments as Python does."""
    rows = called()
    broken = one_in(15)
    for at in broken if not fixed else ():
        call = rows[at]["messages"][1]["tool_calls"][0]["function"]
        call["arguments"] = str(json.loads(call["arguments"]))
    return looked_at(rows, spots=[f"row {at} messages[1].tool_calls" for at in broken])


FAULT = fault_of_rows(
    "no program can read the calls that the model makes",
    code="DAT060",
)
