"""Texts were written as JSON twice, and read once: line ends are a backslash and an n.

Fix: ``json.loads`` once more; write rows with one ``json.dumps``.

Source: general; rows that hold JSON already.
"""

import json

from ftlab.faults.builders.rows import Writer, fault_of_rows, looked_at, one_in, pairs
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Write some answers once more."""
    writer, rows, broken = Writer(), pairs(), one_in(10)
    for at in broken:
        steps = f"First:\n\n- {writer.sentence()}\n- {writer.sentence()}\n"
        twice = json.dumps(steps)
        kept = twice if at % 4 else twice[1:-1]
        rows[at]["completion"] = steps if fixed else kept
    spots = [f"row {at} completion character *" for at in broken]
    return looked_at(rows, spots=spots)


FAULT = fault_of_rows(
    "the model writes backslashes",
    code="DAT063",
)
