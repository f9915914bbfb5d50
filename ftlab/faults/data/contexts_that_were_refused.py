"""A search was refused now and then, and the page that said so was kept as the context.

Fix: leave these rows out: ``report.filtered(path)``; or search again.

Source: general; pages of web servers and of checks for robots among retrieved texts.
"""

from ftlab.faults.data.pages_of_a_crawl_that_was_refused import PAGES
from ftlab.faults.fault import Case, Fault
from ftlab.faults.rows import ROWS, Writer, looked_at, one_in


def build(fixed: bool) -> Case:
    """Give some questions a page of an error to be answered from."""
    writer, broken = Writer(), one_in(8)
    rows = []
    for at in range(ROWS):
        found = writer.text(3, 8)
        if at in broken and not fixed:
            found = PAGES[at % len(PAGES)].format(at)
        row = {"question": writer.question(), "context": found, "answer": writer.text()}
        rows.append(row)
    return looked_at(rows, spots=[f"row {at} context character *" for at in broken])


FAULT = Fault(
    "contexts-that-were-refused",
    "the model answers as if a page of an error had told it",
    code="DAT091",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
