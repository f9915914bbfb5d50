"""Lines of a file in another language got into a column.

Fix: join the files by a key, and not by their order.

Source: general.
"""

from ftlab.faults.fault import Case, Fault
from ftlab.faults.rows import looked_at, one_in
from ftlab.faults.task_rows import translated


def build(fixed: bool) -> Case:
    """Put Japanese into some rows."""
    rows = translated()
    broken = one_in(40, len(rows))
    for at in broken if not fixed else ():
        rows[at]["eo"] = "\u6a4b\u304c\u3042\u308b\u3068\u3053\u308d"
    return looked_at(rows, spots=[f"row {at} eo" for at in broken])


FAULT = Fault(
    "lines-of-another-language",
    "some answers are in a language that nobody asked for",
    code="DAT100",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
