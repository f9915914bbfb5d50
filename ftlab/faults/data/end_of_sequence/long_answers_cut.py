"""The model stops after short answers, and never after long ones.

Rows are truncated at a maximal length. Long answers lose their last words and their EOS
with them, so that nothing teaches the model to end a long answer.

Fix: a greater ``max_length``, or leave out what does not fit.

Source: TRL, SFTConfig, ``max_length`` is 1024 unless it is set.
"""

from ftlab.faults.builders.chats import chats, ids_of, labelled, tokenizer, trained_on
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Truncate a quarter of the rows at their end."""
    made = tokenizer()
    talks = [*chats(12), *chats(4, words=(24, 30))]
    length = None if fixed else 48
    rows = labelled([row[:length] for row in ids_of(made, talks)])
    return trained_on(made, rows)


FAULT = Fault(
    "long answers are cut off with their end",
    code="DAT023",
    places=("token 47 of sample *",),
    evident=1,
)
