"""Hyphenated words were split for the model, and their tags were not.

Fix: split words and tags together, or let the tokenizer do it: ``word_ids()``.

Source: general; huggingface/transformers, the example of token classification.
"""

from ftlab.faults.fault import Case, Fault
from ftlab.faults.rows import looked_at, one_in
from ftlab.faults.task_rows import tagged


def build(fixed: bool) -> Case:
    """Split a word of some rows."""
    rows = tagged()
    broken = one_in(12, len(rows))
    for at in broken if not fixed else ():
        rows[at]["tokens"][1:2] = ["north", "western"]
    return looked_at(rows, spots=[f"row {at} ner_tags" for at in broken])


FAULT = Fault(
    "tags-of-split-words",
    "names are found one word too early",
    code="DAT099",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
