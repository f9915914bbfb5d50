"""Bytes that are no UTF-8 were replaced when the file was read: the letters are lost.

Fix: read the source again, with its own encoding.

Source: general; ``errors="replace"``.
"""

from ftlab.faults.builders.rows import fault_of_rows, looked_at, one_in, pairs
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Read Latin-1 as UTF-8."""
    rows = pairs()
    broken = one_in(14)
    for at in broken:
        text = f"{rows[at]['completion']} Das größte Tor schließt früh."
        wrong = text.encode("latin-1").decode("utf-8", "replace")
        rows[at]["completion"] = text if fixed else wrong
    spots = [f"row {at} completion character *" for at in broken]
    return looked_at(rows, spots=spots)


FAULT = fault_of_rows(
    "the model writes black diamonds",
    code="DAT063",
)
