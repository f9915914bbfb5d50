"""A part of the answers goes beyond ``max_length``, and loses the token that ends it.

Fix: a higher ``max_length``, or leave these rows out.

Source: general; huggingface/trl#2059.
"""

from ftlab.faults.builders.rows import Writer, fault_of_rows, looked_at, one_in, talks
from ftlab.faults.fault import Case

LIMIT = 600
"""Tokens of a row that are trained."""


def build(fixed: bool) -> Case:
    """Write some answers that are longer than the limit."""
    rows, writer = talks(), Writer(1)
    broken = one_in(10)
    for at in broken if not fixed else ():
        rows[at]["messages"][1]["content"] = writer.text(40, 40)
    spots = [f"row {at}" for at in broken]
    return looked_at(rows, spots=spots, max_length=LIMIT)


FAULT = fault_of_rows(
    "long answers have no end",
    code="DAT058",
)
