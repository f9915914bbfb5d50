"""Two exports were joined, and one of them calls its columns otherwise.

Mappings that look for ``messages`` raise at these rows, or make empty texts of them.

Fix: rename the columns before the files are joined.

Source: general.
"""

from typing import Any

from ftlab.faults.builders.rows import fault_of_rows, looked_at, one_in, talks
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Name the columns of some rows otherwise."""
    rows: list[dict[str, Any]] = list(talks())
    broken = one_in(6)
    for at in broken if not fixed else ():
        question, answer = (each["content"] for each in rows[at]["messages"])
        rows[at] = {"frage": question, "antwort": answer}
    return looked_at(rows, spots=[f"row {at}" for at in broken])


FAULT = fault_of_rows(
    "a part of the rows is passed over",
    code="DAT057",
)
