"""Answers in JSON were written by a model, and some have a comma behind the last value.

Fix: ``json.loads`` on each answer before it is kept; leave these rows out.

Source: general; RFC 8259, section 4: no comma stands behind the last member.
"""

import json

from ftlab.faults.fault import Case, Fault
from ftlab.faults.rows import Writer, looked_at, one_in, pairs


def build(fixed: bool) -> Case:
    """Write a comma before the end of some answers."""
    writer, rows = Writer(1), pairs()
    for row in rows:
        asked = "Give the sentence and its count as JSON."
        row["prompt"] = f"{asked} {row['completion']}"
        held = {"sentence": writer.sentence(), "count": writer.number(90)}
        row["completion"] = json.dumps(held)
    broken = one_in(12)
    for at in broken if not fixed else ():
        rows[at]["completion"] = rows[at]["completion"][:-1] + ",}"
    spots = [f"row {at} completion character *" for at in broken]
    return looked_at(rows, spots=spots)


FAULT = Fault(
    "json-with-a-comma-too-many",
    "the program that reads the answers fails on some",
    code="DAT063",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
