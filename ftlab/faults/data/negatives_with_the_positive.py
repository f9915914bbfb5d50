"""Negatives were mined from all passages, the positive among them.

Fix: leave the positive out of what is mined (`mine_hard_negatives` of
sentence-transformers does), or these rows out.

Source: general; sentence-transformers' documentation, "Hard Negatives Mining".
"""

from ftlab.faults.fault import Case, Fault
from ftlab.faults.rows import Writer, looked_at, one_in, pairs


def build(fixed: bool) -> Case:
    """Take the nearest passage for the negative of some rows."""
    writer = Writer(1)
    rows = [
        {
            "anchor": row["prompt"],
            "positive": row["completion"],
            "negative": writer.text(),
        }
        for row in pairs()
    ]
    broken = one_in(10)
    for at in broken if not fixed else ():
        rows[at]["negative"] = rows[at]["positive"]
    return looked_at(rows, spots=[f"row {at} negative" for at in broken])


FAULT = Fault(
    "negatives-with-the-positive",
    "some pairs are pulled together and pushed apart at once",
    code="DAT067",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
