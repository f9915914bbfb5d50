r"""Texts were read from printed pages: words are divided where their lines end.

Fix: join divided words, and the lines: ``re.sub(r"(?<=[a-z])-\n(?=[a-z])", "", text)``.

Source: general; texts of PDF files.
"""

import re

from ftlab.faults.fault import Case, Fault
from ftlab.faults.rows import ROWS, Writer, looked_at, one_in

LONG_WORD = re.compile(r"\b([a-z]{3})([a-z]{4,})")
"""Words that may be divided."""


def build(fixed: bool) -> Case:
    """Divide some words."""
    writer = Writer()
    rows, broken = [{"text": writer.text(6, 9)} for _ in range(ROWS)], one_in(4)
    for at in broken if not fixed else ():
        rows[at]["text"] = LONG_WORD.sub("\\1-\n\\2", rows[at]["text"])
    return looked_at(rows, spots=[f"row {at} text character *" for at in broken])


FAULT = Fault(
    "lines-of-printed-pages",
    "the model writes halves of words",
    code="DAT063",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
