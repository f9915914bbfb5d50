"""A conversation was stored as the text of its JSON, by a spreadsheet or a database.

Templates go through the letters of it, or raise. Rows of two exports are mixed here.

Fix: ``json.loads`` for these rows.

Source: general; the columns of CSV files are texts.
"""

import json
from typing import Any

from ftlab.faults.builders.rows import fault_of_rows, looked_at, one_in, talks
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Store some conversations as texts."""
    rows: list[dict[str, Any]] = list(talks())
    broken = one_in(10)
    for at in broken if not fixed else ():
        rows[at] = {"messages": json.dumps(rows[at]["messages"])}
    return looked_at(rows, spots=[f"row {at} messages" for at in broken])


FAULT = fault_of_rows(
    "each conversation is one text",
    code="DAT057",
)
