"""UTF-8 was read as cp1252: each letter with an accent is two signs.

Such rows have two to four times the tokens, and the model learns to write them.

Fix: read the source with ``encoding="utf-8"``; ``ftfy.fix_text`` repairs the texts.

Source: general; exports of spreadsheets.
"""

from ftlab.faults.builders.rows import fault_of_rows, looked_at, one_in, pairs
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Read some texts with another encoding."""
    rows = pairs()
    broken = one_in(10)
    for at in broken:
        text = f"{rows[at]['completion']} La rivière gelée mène à la forêt."
        wrong = text.encode().decode("cp1252", "replace")
        rows[at]["completion"] = text if fixed else wrong
    spots = [f"row {at} completion character *" for at in broken]
    return looked_at(rows, spots=spots)


FAULT = fault_of_rows(
    "the model writes signs in place of letters",
    code="DAT063",
)
