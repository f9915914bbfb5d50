"""The answers were stored in a column of a database that holds 200 characters.

Fix: a column of text without a limit (``TEXT``), and a new export.

Source: MySQL without strict mode, which cuts what a ``VARCHAR`` does not hold.
"""

from ftlab.faults.builders.rows import fault_of_rows, looked_at, pairs
from ftlab.faults.fault import Case

LIMIT = 200
"""Two sentences are shorter, three and four are longer."""


def build(fixed: bool) -> Case:
    """Cut all answers at a number of characters."""
    rows = pairs()
    whole = [row["completion"] for row in rows]
    for row in rows if not fixed else ():
        row["completion"] = row["completion"][:LIMIT]
    cut = [at for at, text in enumerate(whole) if len(text) > LIMIT]
    return looked_at(rows, spots=[f"row {at}" for at in cut])


FAULT = fault_of_rows(
    "long answers stop in the middle of a word",
    code="DAT058",
)
