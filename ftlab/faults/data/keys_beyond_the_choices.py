"""Choices were cut to four, and some questions had a fifth, which was the right one.

Fix: keep all choices; or leave these rows out: ``report.filtered(path)``.

Source: general; allenai/ai2_arc has questions of three and of five choices.
"""

from ftlab.faults.fault import Case, Fault
from ftlab.faults.rows import ROWS, Writer, looked_at, one_in


def build(fixed: bool) -> Case:
    """Write a key that is none of the four letters."""
    writer, broken = Writer(), one_in(12)
    rows = []
    for at in range(ROWS):
        options = [writer.sentence() for _ in range(4)]
        key = "E" if at in broken and not fixed else "ABCD"[writer.number(4)]
        choices = {"label": list("ABCD"), "text": options}
        row = {"question": writer.question(), "choices": choices, "answerKey": key}
        rows.append(row)
    return looked_at(rows, spots=[f"row {at} answerKey" for at in broken])


FAULT = Fault(
    "keys-beyond-the-choices",
    "the model answers with a letter that was not offered",
    code="DAT097",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
