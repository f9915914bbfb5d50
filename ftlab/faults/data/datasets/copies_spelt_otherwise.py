"""Rows were taken from two mirrors of one site: case, spaces and a word differ.

A search for equal rows does not find them.

Fix: ``report.filtered(path)`` leaves the later ones out.

Source: Lee et al., ACL 2022; the given data of this project has them.
"""

from ftlab.faults.builders.rows import ROWS, fault_of_rows, looked_at, pairs, respelt
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Join some rows again, spelt otherwise."""
    rows = pairs()
    again = pairs(6, offset=1) if fixed else [respelt(each) for each in rows[:6]]
    spots = [f"row {at}" for at in range(ROWS, ROWS + 6)]
    return looked_at(rows + again, spots=spots)


FAULT = fault_of_rows(
    "rows are repeated with other spelling",
    code="DAT061",
)
