"""Code was taken from a working tree in the middle of a merge.

Fix: take it from a commit (``git show HEAD:file``); ``git diff --check`` names what is
left.

Source: general; Git's manual, git-merge, "How conflicts are presented".
"""

from ftlab.faults.fault import Case, Fault
from ftlab.faults.rows import looked_at, one_in, pairs


def build(fixed: bool) -> Case:
    """Keep both sides of a conflict in some answers."""
    rows, broken = pairs(), one_in(8)
    for at in broken if not fixed else ():
        first, _, second = rows[at]["completion"].partition(". ")
        rows[at]["completion"] = (
            f"<<<<<<< HEAD\n{first}.\n=======\n{second}\n>>>>>>> topic\n"
        )
    spots = [f"row {at} completion character 0" for at in broken]
    return looked_at(rows, spots=spots)


FAULT = Fault(
    "conflict-left-in-code",
    "the model writes <<<<<<< HEAD",
    code="DAT063",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
