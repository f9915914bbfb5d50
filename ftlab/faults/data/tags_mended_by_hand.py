"""Somebody gave the first words of some names another type, and left the others.

Fix: one type for all words of a name.

Source: general; the notation IOB2 of CoNLL-2002.
"""

from ftlab.faults.fault import Case, Fault
from ftlab.faults.rows import looked_at, one_in
from ftlab.faults.task_rows import named


def build(fixed: bool) -> Case:
    """Rename the first tag of some names."""
    rows = named()
    broken = one_in(12, len(rows))
    for at in broken if not fixed else ():
        rows[at]["ner_tags"][0] = "B-ORG"
    return looked_at(rows, spots=[f"row {at} ner_tags[1]" for at in broken])


FAULT = Fault(
    "tags-mended-by-hand",
    "names are found in halves",
    code="DAT099",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
