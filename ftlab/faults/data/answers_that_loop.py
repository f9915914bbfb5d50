"""The model that wrote the answers fell into loops, which a limit ended.

Fix: leave these rows out: ``report.filtered(path)``; sample with a penalty.

Source: Holtzman et al., "The Curious Case of Neural Text Degeneration", 2020.
"""

from ftlab.faults.fault import Case, Fault
from ftlab.faults.rows import Writer, looked_at, one_in, pairs


def build(fixed: bool) -> Case:
    """Repeat a sentence to the end."""
    writer, rows, broken = Writer(), pairs(), one_in(12)
    for at in broken:
        last = f" {writer.sentence()}"
        rows[at]["completion"] += last if fixed else last * (8 + writer.number(20))
    spots = [f"row {at} completion character *" for at in broken]
    return looked_at(rows, spots=spots)


FAULT = Fault(
    "answers-that-loop",
    "the model repeats one sentence and does not stop",
    code="DAT059",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
