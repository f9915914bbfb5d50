"""Texts came from a spreadsheet, with line ends as its file writes them.

Fix: ``text.replace("_x000D_", "")``, or a reader that undoes these escapes.

Source: general; ECMA-376, ``ST_Xstring``, read without it being undone.
"""

from ftlab.faults.fault import Case, Fault
from ftlab.faults.rows import looked_at, one_in, pairs


def build(fixed: bool) -> Case:
    """Keep the escapes of some line ends."""
    rows, broken = pairs(), one_in(8)
    for row in rows:
        row["completion"] = row["completion"].replace(". ", ".\n")
    for at in broken if not fixed else ():
        escaped = rows[at]["completion"].replace("\n", "_x000D_\n")
        rows[at]["completion"] = f"{escaped}_x000D_"
    spots = [f"row {at} completion character *" for at in broken]
    return looked_at(rows, spots=spots)


FAULT = Fault(
    "line-ends-of-a-spreadsheet",
    "the model writes _x000D_ at the ends of lines",
    code="DAT063",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
