"""A crawler was refused now and then, and the pages that said so were kept.

Fix: leave these texts out: ``report.filtered(path)``.

Source: general; pages of web servers and of checks for robots in crawled texts.
"""

from ftlab.faults.fault import Case, Fault
from ftlab.faults.rows import Writer, looked_at, one_in

PAGES = (
    "403 Forbidden\n\nnginx/1.{0}.2",
    "502 Bad Gateway\n\nThe web server reported an error. Ray ID: 5{0}6f7ae5b7",
    "Just a moment...\n\nChecking your browser before accessing town{0}.example.",
)
"""What servers answer to a crawler."""


def build(fixed: bool) -> Case:
    """Keep some pages of errors."""
    writer, broken = Writer(), one_in(8)
    rows = [{"text": writer.text(3, 8)} for _ in range(60)]
    for at in broken if not fixed else ():
        rows[at]["text"] = PAGES[at % len(PAGES)].format(at)
    return looked_at(rows, spots=[f"row {at} text character *" for at in broken])


FAULT = Fault(
    "pages-of-a-crawl-that-was-refused",
    "the model writes pages of errors",
    code="DAT091",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
