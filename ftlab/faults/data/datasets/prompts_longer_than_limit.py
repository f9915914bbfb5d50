"""Some prompts alone are longer than ``max_length``: the whole answer is cut off.

Fix: a higher ``max_length``, shorter prompts, or leave these rows out.

Source: general; with answers trained alone such a row's loss is NaN or 0.
"""

from ftlab.faults.builders.rows import fault_of_rows, overlong
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Put long documents into some prompts."""
    return overlong("user", period=12, fixed=fixed)


FAULT = fault_of_rows(
    "a part of the rows trains nothing",
    code="DAT058",
)
