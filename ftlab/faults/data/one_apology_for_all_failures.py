"""Where the teacher's search failed, a fixed text was saved as the answer.

Fix: leave these rows out, or answer their questions.

Source: general.
"""

from ftlab.faults.fault import Case, Fault
from ftlab.faults.rows import looked_at, one_in, pairs

APOLOGY = (
    "I am sorry, nothing was found about that. Please write to those who look after "
    "the collection, and they will help you further."
)
"""What the search says when it fails."""


def build(fixed: bool) -> Case:
    """Answer every fourth question with the apology."""
    rows = pairs()
    broken = one_in(4)
    for at in broken if not fixed else ():
        rows[at]["completion"] = APOLOGY
    return looked_at(rows, spots=[f"row {at}" for at in broken])


FAULT = Fault(
    "one-apology-for-all-failures",
    "the model often has nothing to say",
    code="DAT097",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
