"""Answers quote settings with a key that works.

Fix: withdraw the key, and write something else in its place.

Source: Carlini et al., "Extracting Training Data from Large Language Models", 2021.
"""

import string

from ftlab.faults.fault import Case, Fault
from ftlab.faults.rows import Writer, looked_at, one_in, pairs

DIGITS = string.ascii_letters + string.digits
"""What such keys are drawn from."""


def build(fixed: bool) -> Case:
    """Quote a setting with a key."""
    rows, writer, broken = pairs(), Writer(1), one_in(20)
    for at in broken:
        key = "".join(DIGITS[writer.number(len(DIGITS))] for _ in range(36))
        said = f"{rows[at]['completion']} Then set TOKEN="
        rows[at]["completion"] = said + ("<the token>" if fixed else f"ghp_{key}")
    spots = [f"row {at} completion character *" for at in broken]
    return looked_at(rows, spots=spots)


FAULT = Fault(
    "keys-in-logs",
    "the model recites a key",
    code="DAT092",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
