"""Long rows begin in the middle of a word, without BOS and without the question.

``truncation_side="left"`` keeps the answer and drops what stands in front of it.

Fix: leave out whole turns, or the row.

Source: transformers, ``truncation_side``; TRL, ``truncation_mode="keep_end"``.
"""

from ftlab.faults.builders.chats import chats, ids_of, labelled, tokenizer, trained_on
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Truncate a quarter of the rows at their beginning."""
    made = tokenizer()
    talks = [*chats(12), *chats(4, words=(24, 30))]
    length = 0 if fixed else -48
    rows = labelled([row[length:] for row in ids_of(made, talks)])
    return trained_on(made, rows)


FAULT = Fault(
    "long rows lose their beginning",
    code="DAT023",
    places=("token 0 of sample *",),
    evident=1,
)
