"""A spreadsheet took fractions for dates when it opened the file, and saved them so.

Fix: make these answers anew; a column must be text before a spreadsheet reads it.

Source: general; Ziemann et al., "Gene name errors are widespread in the scientific
literature", Genome Biology 2016.
"""

from ftlab.faults.fault import Case, Fault
from ftlab.faults.rows import ROWS, Writer, looked_at, one_in

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov")


def build(fixed: bool) -> Case:
    """Write some fractions as a day of a month."""
    writer, broken = Writer(), one_in(6)
    rows = []
    for at in range(ROWS):
        one, two = 1 + writer.number(len(MONTHS)), 13 + writer.number(15)
        said = f"{one}/{two}"
        if at in broken and not fixed:
            said = f"{two}-{MONTHS[one - 1]}"
        asked = f"{writer.sentence()} What part is it?"
        rows.append({"prompt": asked, "completion": said})
    return looked_at(rows, spots=[f"row {at}" for at in broken])


FAULT = Fault(
    "fractions-that-became-dates",
    "the model answers with days where a fraction is asked for",
    code="DAT063",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
