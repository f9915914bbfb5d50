"""Texts were taken from pages with what stands around: notices, footers, page numbers.

Fix: take the text out of the page, as ``trafilatura.extract(html)`` does.

Source: general; crawls of web pages and texts of PDF files.
"""

from ftlab.faults.fault import Case, Fault
from ftlab.faults.rows import ROWS, Writer, looked_at, one_in

NOTICE = "We use cookies to improve your experience. Accept all | Settings"
FOOTER = "A guide to the quiet river"


def build(fixed: bool) -> Case:
    """Leave the frame of a page in some texts."""
    writer = Writer()
    texts = [[writer.text(), writer.text()] for _ in range(ROWS)]
    broken = one_in(3)
    for at in broken if not fixed else ():
        if at % 2:
            texts[at].insert(0, NOTICE)
        else:
            texts[at].insert(1, f"{FOOTER}\nPage {at} of 312")
    rows = [{"text": "\n\n".join(text)} for text in texts]
    return looked_at(rows, spots=[f"row {at} text character *" for at in broken])


FAULT = Fault(
    "frames-of-pages",
    "the model writes notices and page numbers into its texts",
    code="DAT063",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
