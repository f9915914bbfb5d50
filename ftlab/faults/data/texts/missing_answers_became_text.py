"""Missing answers became the text "nan" where a column was made text.

Fix: ``frame.dropna(subset=["output"])`` before ``astype(str)``.

Source: pandas, `DataFrame.astype`.
"""

from ftlab.faults.builders.rows import fault_of_rows, looked_at, one_in, pairs
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Make a column text."""
    rows = pairs()
    broken = one_in(12)
    for at in broken if not fixed else ():
        rows[at]["completion"] = str(float("nan")) if at % 4 else "#REF!"
    return looked_at(rows, spots=[f"row {at} completion" for at in broken])


FAULT = fault_of_rows(
    "the model answers nan",
    code="DAT058",
)
