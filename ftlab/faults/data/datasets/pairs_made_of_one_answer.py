"""Two answers were sampled without chance: chosen and rejected are the same.

Fix: leave these rows out, or sample with a temperature.

Source: general; greedy sampling gives one text.
"""

from ftlab.faults.builders.rows import fault_of_rows, looked_at, one_in, pairs
from ftlab.faults.fault import Case


def _others() -> list[str]:
    return [row["completion"] for row in pairs(offset=1)]


def build(fixed: bool) -> Case:
    """Take one answer for both sides of some pairs."""
    rows = [
        {"prompt": row["prompt"], "chosen": row["completion"], "rejected": other}
        for row, other in zip(pairs(), _others(), strict=True)
    ]
    broken = one_in(10)
    for at in broken if not fixed else ():
        rows[at]["rejected"] = rows[at]["chosen"]
    return looked_at(rows, spots=[f"row {at} rejected" for at in broken])


FAULT = fault_of_rows(
    "some margins stay at 0",
    code="DAT066",
)
