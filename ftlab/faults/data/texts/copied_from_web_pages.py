"""Texts were copied from web pages, with the characters that pages break words at.

Nobody sees them; to the tokenizer the word is another one.

Fix: take out U+00AD and U+200B: ``text.translate({0xAD: None, 0x200B: None})``.

Source: general; Unicode Technical Report #36.
"""

from ftlab.faults.builders.rows import fault_of_rows, looked_at, one_in, pairs
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Break some words where nobody sees it."""
    rows = pairs()
    broken = one_in(8)
    for at in broken if not fixed else ():
        sign = "\u200b" if at % 3 else "\u00ad"
        rows[at]["prompt"] = rows[at]["prompt"].replace("e", f"e{sign}", 1)
    spots = [f"row {at} prompt character *" for at in broken]
    return looked_at(rows, spots=spots)


FAULT = fault_of_rows(
    "words are split at places that nobody sees",
    code="DAT063",
)
