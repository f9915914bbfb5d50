"""Completions with their verdicts were read from a table: "False" is true as well.

Fix: ``row["label"] = row["label"].strip().lower() == "true"``.

Source: general; TRL's KTOTrainer adds up the labels, which raises.
"""

from ftlab.faults.fault import Case, Fault
from ftlab.faults.rows import looked_at, pairs


def build(fixed: bool) -> Case:
    """Write the verdicts as texts."""
    rows = [
        {**row, "label": at % 3 > 0 if fixed else str(at % 3 > 0)}
        for at, row in enumerate(pairs())
    ]
    return looked_at(rows, spots=[f"row {at} label" for at in range(len(rows))])


FAULT = Fault(
    "verdicts-read-as-text",
    "bad completions are taken for good ones",
    code="DAT097",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
