"""Turkish texts in cp1254 were read as Latin-1: three letters became Icelandic ones.

Fix: ``encoding="cp1254"``, or ``text.encode("latin-1").decode("iso-8859-9")``.

Source: general; files of Windows in Turkish and Russian, read without an encoding.
"""

from ftlab.faults.fault import Case, Fault
from ftlab.faults.rows import looked_at, one_in, pairs

FORMS = (
    "L\xfctfen se\xe7ilen {0} dosyay\u0131 kapat\u0131n.",
    "\u0130\u015flem ba\u015far\u0131yla bitti, {0} dosya silindi \xe7\xfcnk\xfc.",
)
"""Sentences with the letters that Latin-1 has not."""


def build(fixed: bool) -> Case:
    """Read some answers with the wrong encoding."""
    rows, broken = pairs(), one_in(8)
    for at in broken:
        said = FORMS[at % 2].format(at)
        wrong = said.encode("iso-8859-9").decode("latin-1")
        rows[at]["completion"] = said if fixed else wrong
    spots = [f"row {at} completion character *" for at in broken]
    return looked_at(rows, spots=spots)


FAULT = Fault(
    "turkish-read-as-latin-1",
    "the model writes Turkish with Icelandic letters",
    code="DAT063",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
