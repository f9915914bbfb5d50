"""Every answer was written as JSON before the whole row was.

Fix: ``json.loads`` on the answers, once.

Source: general; ``json.dumps`` of what is JSON already.
"""

import json

from ftlab.faults.builders.rows import fault_of_rows, looked_at, pairs
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Write the answers as JSON."""
    rows = pairs()
    for at, row in enumerate(rows):
        row["completion"] = row["completion"].replace(
            ". ", ".\n" if at % 9 == 0 else ". "
        )
        if not fixed:
            row["completion"] = json.dumps(row["completion"])
    return looked_at(rows, spots=[f"row {at} *" for at in range(len(rows))])


FAULT = fault_of_rows(
    "the model puts all it says in quotes",
    code="DAT063",
)
