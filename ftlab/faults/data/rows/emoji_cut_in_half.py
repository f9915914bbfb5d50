"""Texts were cut after so many units of UTF-16, in the middle of an emoji.

What is left is half of a character. The fast tokenizers refuse the text, with an error
that names no row.

Fix: ``text.encode("utf-8", "replace").decode()``, or cut between characters.

Source: general; JavaScript and Java count in such units.
"""

from ftlab.faults.builders.rows import fault_of_rows, looked_at, one_in, pairs
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Cut some answers within their last character."""
    rows = pairs()
    broken = one_in(20)
    for at in broken:
        text = rows[at]["completion"] + " \U0001f642"
        half = text.encode("utf-16", "surrogatepass")[:-2]
        cut = half.decode("utf-16", "surrogatepass")
        rows[at]["completion"] = text if fixed else cut
    spots = [f"row {at} completion character *" for at in broken]
    return looked_at(rows, spots=spots)


FAULT = fault_of_rows(
    "the tokenizer refuses some texts",
    code="DAT057",
)
