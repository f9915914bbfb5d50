"""Contexts were cleaned of markup when the places of their answers had been noted.

Fix: note the places anew: ``row["context"].find(answer)``.

Source: huggingface/datasets, data sets made after SQuAD; places counted in bytes.
"""

from ftlab.faults.fault import Case, Fault
from ftlab.faults.rows import looked_at, one_in
from ftlab.faults.task_rows import asked_about


def build(fixed: bool) -> Case:
    """Note the places of some answers in a text that has a mark in front."""
    rows = asked_about()
    broken = one_in(13, len(rows))
    for at in broken if not fixed else ():
        answers = rows[at]["answers"]
        answers["answer_start"] = [3 + start for start in answers["answer_start"]]
    told = [at for at in broken if rows[at]["answers"]["text"]]
    return looked_at(rows, spots=[f"row {at} answers" for at in told])


FAULT = Fault(
    "answers-behind-their-place",
    "the model marks words behind the answer",
    code="DAT100",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
