"""A conversation without roles of a template is trained behind its first marker.

The text is written by hand, ``### Question:`` and ``### Answer:`` turn by turn. Labels
begin behind the first answer's marker and leave nothing out any more.

Fix: ignore labels turn by turn.

Source: huggingface/trl#3223: turns that a search for markers does not tell apart.
"""

from ftlab.faults.builders.chats import chats, tokenizer, trained_on
from ftlab.faults.fault import Case, Fault

ROLES = {"user": "### Question:", "assistant": "### Answer:"}


def build(fixed: bool) -> Case:
    """Leave out later questions, or not."""
    made = tokenizer()
    made.chat_template = None
    rows = []
    for talk in chats(turns=2):
        ids: list[int] = []
        labels: list[int] = []
        for number, message in enumerate(talk):
            answer = message["role"] == "assistant"
            head = made("\n" + ROLES[message["role"]])["input_ids"]
            text = made(f" {message['content']}</turn>")["input_ids"]
            begun = not fixed and number > 1
            ids += [*head, *text]
            labels += head if begun else [-100] * len(head)
            labels += text if begun or answer else [-100] * len(text)
        rows.append({"input_ids": ids, "labels": labels})
    return trained_on(made, rows)


FAULT = Fault(
    "later questions are trained, in texts without a template",
    code="DAT030",
    places=("token * of sample *",),
)
