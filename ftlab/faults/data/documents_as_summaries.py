"""Where nobody had written a summary, the document was saved as its own.

Fix: leave these rows out, or have the summaries written.

Source: general; programs for translators and ``fillna(source)`` do the same.
"""

from ftlab.faults.fault import Case, Fault
from ftlab.faults.rows import looked_at, one_in
from ftlab.faults.task_rows import summaries


def build(fixed: bool) -> Case:
    """Save some documents as their summaries."""
    rows = summaries()
    broken = one_in(15, len(rows))
    for at in broken if not fixed else ():
        rows[at]["summary"] = rows[at]["document"]
    return looked_at(rows, spots=[f"row {at} summary" for at in broken])


FAULT = Fault(
    "documents-as-summaries",
    "summaries are as long as their documents",
    code="DAT066",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
