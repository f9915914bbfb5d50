r"""Texts hold Arabic letters in the shapes of a page, ligatures, and a dotted small i.

Fix: ``unicodedata.normalize("NFKC", text)``, and ``text.replace("i\u0307", "i")``.

Source: general; texts of PDF files, and Turkish texts behind ``str.lower``.
"""

from ftlab.faults.fault import Case, Fault
from ftlab.faults.rows import looked_at, one_in, pairs

ARABIC = "\ufe8d\ufedf\ufeb4\ufefc\ufee1 \ufecb\ufee0\ufef4\ufedc\ufee2"
"""Two words, as a font shapes them."""

SAID = (
    (ARABIC, "\u0627\u0644\u0633\u0644\u0627\u0645 \u0639\u0644\u064a\u0643\u0645"),
    (
        "The \ufb01rst of them is well de\ufb01ned.",
        "The first of them is well defined.",
    ),
    ("\u0130stanbul".lower(), "istanbul"),
)
"""What some answers say, and how it is typed."""


def build(fixed: bool) -> Case:
    """Begin some answers with such words."""
    rows, broken = pairs(), one_in(8)
    for at in broken:
        said = SAID[at // 8 % 3][fixed]
        rows[at]["completion"] = f"{said} {rows[at]['completion']}"
    spots = [f"row {at} completion character *" for at in broken]
    return looked_at(rows, spots=spots)


FAULT = Fault(
    "letters-that-nobody-types",
    "words are spelt with characters that no user types",
    code="DAT063",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
