"""Rows in another script come to a vocabulary that has no bytes to fall back on.

Fix: a tokenizer with bytes to fall back on, or leave these rows out.

Source: ludwig-ai/ludwig#3897.
"""

import string

from ftlab.faults.builders.own_words import words_of
from ftlab.faults.builders.rows import fault_of_rows, looked_at, one_in, pairs
from ftlab.faults.fault import Case

_OTHER = str.maketrans(
    string.ascii_letters,
    "".join(map(chr, [*range(0x430, 0x44A), *range(0x410, 0x42A)])),
)
"""Cyrillic letters in place of all Latin ones."""


def build(fixed: bool) -> Case:
    """Write some answers in another script."""
    rows, broken = pairs(), one_in(10)
    made = words_of([text for row in rows for text in row.values()])
    for at in broken if not fixed else ():
        rows[at]["completion"] = rows[at]["completion"].translate(_OTHER)
    spots = [f"row {at} completion character *" for at in broken]
    return looked_at(rows, made=made, spots=spots)


FAULT = fault_of_rows(
    "some rows are unknown tokens",
    code="DAT063",
)
