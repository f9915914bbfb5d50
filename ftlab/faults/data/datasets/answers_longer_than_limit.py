"""A part of the answers goes beyond ``max_length``, and loses the token that ends it.

Fix: a higher ``max_length``, or leave these rows out.

Source: general; huggingface/trl#2059.
"""

from ftlab.faults.builders.rows import fault_of_rows, overlong
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Write some answers that are longer than the limit."""
    return overlong("assistant", period=10, fixed=fixed)


FAULT = fault_of_rows(
    "long answers have no end",
    code="DAT058",
)
