"""Replies of a program were kept as ``str(reply)``: dictionaries that hold answers.

Fix: keep ``reply["answer"]`` alone.

Source: general; frames whose cells are dictionaries.
"""

from ftlab.faults.fault import Case, Fault
from ftlab.faults.rows import looked_at, one_in, pairs


def build(fixed: bool) -> Case:
    """Keep some replies whole."""
    rows, broken = pairs(), one_in(10)
    for at in broken if not fixed else ():
        reply = {"answer": rows[at]["completion"], "score": at}
        rows[at]["completion"] = str(reply)
    spots = [f"row {at} completion character 0" for at in broken]
    return looked_at(rows, spots=spots)


FAULT = Fault(
    "whole-reply-kept",
    "the model answers with a dictionary",
    code="DAT063",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
