"""An optional column became the text "nan" where it was made text.

All prompts without an input then end with it, and none that is served does.

Fix: ``frame.fillna("")`` before ``astype(str)``.

Source: pandas, `DataFrame.astype`.
"""

from ftlab.faults.fault import Case, Fault
from ftlab.faults.rows import ROWS, Writer, looked_at, one_in


def build(fixed: bool) -> Case:
    """Make an optional column text."""
    writer, broken = Writer(), one_in(3)
    rows = [
        {
            "instruction": writer.question(),
            "input": writer.text(),
            "output": writer.text(),
        }
        for _ in range(ROWS)
    ]
    for at in broken:
        rows[at]["input"] = "" if fixed else str(float("nan"))
    return looked_at(rows, spots=[f"row {at} input character 0" for at in broken])


FAULT = Fault(
    "missing-inputs-became-text",
    "the model expects nan behind its instruction",
    code="DAT091",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
