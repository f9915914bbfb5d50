r"""Answers were copied from a terminal, and kept its colours.

Fix: ``re.sub(r"\x1b\[[\d;]*m", "", text)``.

Source: general; recorded sessions of command lines.
"""

from ftlab.faults.builders.rows import fault_of_rows, looked_at, one_in, pairs
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Keep the colour of a word in some answers."""
    rows, broken = pairs(), one_in(12)
    for at in broken if not fixed else ():
        said = rows[at]["completion"]
        rows[at]["completion"] = f"{said[:12]}\x1b[31m{said[12:]}"
    spots = [f"row {at} completion character 12" for at in broken]
    return looked_at(rows, spots=spots)


FAULT = fault_of_rows(
    "the model writes characters that colour the terminal",
    code="DAT063",
)
