"""Completions hold the whole conversation, and the prompt is given beside them.

The messages of a prompt are put in front of messages that begin with them, and the
chat template writes the question twice. The second one is trained.

Fix: completions that hold the answer alone.

Source: TRL, documentation of dataset formats (prompt and completion).
"""

from ftlab.faults.builders.chats import chats, ids_of, tokenizer, trained_on
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Put each question in front of a conversation that begins with it."""
    made = tokenizer()
    rows = []
    for question, answer in chats():
        (prompt,) = ids_of(made, [[question]])
        messages = [question, answer] if fixed else [question, question, answer]
        (row,) = ids_of(made, [messages])
        labels = [-100] * len(prompt) + row[len(prompt) :]
        rows.append({"input_ids": row, "labels": labels})
    return trained_on(made, rows)


FAULT = Fault(
    "a model that repeats the question before it answers",
    code="DAT022",
    places=("token * of sample *",),
    also=("DAT030",),
)
