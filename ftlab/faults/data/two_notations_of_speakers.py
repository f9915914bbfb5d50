"""Two files were joined: in one the speakers are human and gpt, in the other not.

Fix: rename the speakers in all rows.

Source: lm-sys/FastChat and axolotl, which map one notation.
"""

from ftlab.faults.fault import Case, Fault
from ftlab.faults.rows import looked_at, one_in, talks


def build(fixed: bool) -> Case:
    """Write some conversations with other names."""
    broken = one_in(5)
    rows = []
    for at, row in enumerate(talks()):
        other = at in broken and not fixed
        names = ("user", "assistant") if other else ("human", "gpt")
        said = [message["content"] for message in row["messages"]]
        talk = zip(names, said, strict=True)
        rows.append({"conversations": [{"from": n, "value": s} for n, s in talk]})
    return looked_at(rows, spots=[f"row {at}" for at in broken])


FAULT = Fault(
    "two-notations-of-speakers",
    "some conversations are not read",
    code="DAT060",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
