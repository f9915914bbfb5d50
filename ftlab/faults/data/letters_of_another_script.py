"""Some letters are Cyrillic ones that look like Latin ones: read from pictures so.

Fix: replace them by the letters of the word's own script.

Source: general; Unicode Technical Report 36 on letters that look alike.
"""

from ftlab.faults.fault import Case, Fault
from ftlab.faults.rows import looked_at, one_in, pairs


def build(fixed: bool) -> Case:
    """Replace some letters."""
    rows, broken = pairs(), one_in(10)
    for at in broken if not fixed else ():
        said = rows[at]["completion"]
        rows[at]["completion"] = said.replace("ea", "e\u0430").replace("ie", "i\u0435")
    spots = [f"row {at} completion character *" for at in broken]
    return looked_at(rows, spots=spots)


FAULT = Fault(
    "letters-of-another-script",
    "words that look right are many tokens",
    code="DAT063",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
