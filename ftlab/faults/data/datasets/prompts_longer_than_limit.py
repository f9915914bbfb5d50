"""Some prompts alone are longer than ``max_length``: the whole answer is cut off.

Fix: a higher ``max_length``, shorter prompts, or leave these rows out.

Source: general; with answers trained alone such a row's loss is NaN or 0.
"""

from ftlab.faults.builders.rows import Writer, fault_of_rows, looked_at, one_in, talks
from ftlab.faults.fault import Case

LIMIT = 600
"""Tokens of a row that are trained."""


def build(fixed: bool) -> Case:
    """Put long documents into some prompts."""
    rows, writer = talks(), Writer(1)
    broken = one_in(12)
    for at in broken if not fixed else ():
        rows[at]["messages"][0]["content"] = writer.text(40, 40)
    spots = [f"row {at}" for at in broken]
    return looked_at(rows, spots=spots, max_length=LIMIT)


FAULT = fault_of_rows(
    "a part of the rows trains nothing",
    code="DAT058",
)
