"""Answers were made of a template, of which one field was misspelt.

Fix: ``str.format``, which raises on a field that is missing, in place of ``replace``.

Source: general; ``text.replace("{name}", name)`` says nothing where it finds nothing.
"""

from ftlab.faults.fault import Case, Fault
from ftlab.faults.rows import looked_at, one_in, pairs


def build(fixed: bool) -> Case:
    """Leave a field in some answers."""
    rows, broken = pairs(), one_in(12)
    for at in broken:
        field = "the bridge" if fixed else "{bridge_name}"
        rows[at]["completion"] += f" So it is with {field}, too."
    spots = [f"row {at} completion character *" for at in broken]
    return looked_at(rows, spots=spots)


FAULT = Fault(
    "fields-left-in-answers",
    "the model writes {bridge_name}",
    code="DAT091",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
