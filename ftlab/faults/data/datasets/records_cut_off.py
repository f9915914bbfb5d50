"""Records in JSON were generated up to a limit, which the longest ones met.

Fix: a higher ``max_new_tokens``; ``json.loads`` on every answer before it is kept.

Source: general; structured answers of a service.
"""

import json

from ftlab.faults.builders.rows import Writer, fault_of_rows, looked_at, one_in, pairs
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Cut some records."""
    rows, writer, broken = pairs(), Writer(1), one_in(12)
    for at, row in enumerate(rows):
        record = {"says": row["completion"], "of": [{"page": writer.number(90)}]}
        row["completion"] = json.dumps(record, indent=1)
        if at in broken and not fixed:
            row["completion"] = row["completion"][: 40 + writer.number(30)]
    spots = [f"row {at} completion character *" for at in broken]
    return looked_at(rows, spots=spots)


FAULT = fault_of_rows(
    "the model opens a record and does not close it",
    code="DAT058",
)
