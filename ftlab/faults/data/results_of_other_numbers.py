"""The numbers of worked answers were changed, and some results were not.

Fix: work the results out anew where numbers are changed; ``eval`` tells the wrong ones.

Source: general; the marks are those of GSM8K (Cobbe et al., 2021).
"""

from ftlab.faults.fault import Case, Fault
from ftlab.faults.rows import ROWS, Writer, looked_at, one_in


def build(fixed: bool) -> Case:
    """Write results that are off by a few."""
    writer, broken = Writer(), one_in(12)
    rows = []
    for at in range(ROWS):
        one, two = 10 + writer.number(80), 3 + writer.number(9)
        off = 1 + writer.number(5) if at in broken and not fixed else 0
        work = f"{one}*{two}={one * two + off}"
        said = f"{writer.sentence()} That makes <<{work}>>{one * two + off} in all."
        rows.append({"question": writer.question(), "answer": said})
    return looked_at(rows, spots=[f"row {at} answer character *" for at in broken])


FAULT = Fault(
    "results-of-other-numbers",
    "the model calculates wrongly, and sounds sure",
    code="DAT101",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
