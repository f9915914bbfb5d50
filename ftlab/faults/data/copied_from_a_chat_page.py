"""Answers were copied from the web page of a chat, with its buttons.

Fix: take those lines out, and put code between fences.

Source: general; conversations that users shared, saved from the page.
"""

from ftlab.faults.fault import Case, Fault
from ftlab.faults.rows import looked_at, one_in, talks

FORMS = (
    "{0}\n\npython\nCopy code\nprint({1})",
    "ChatGPT\n{0} It was so {1} times.\n\n2 / 2",
    "{0} It was so {1} times.\n\nRegenerate response",
)
"""What a copy of the page holds beside the answer."""


def build(fixed: bool) -> Case:
    """Copy some answers from the page."""
    rows, broken = talks(), one_in(8)
    for at in broken if not fixed else ():
        answer = rows[at]["messages"][-1]
        answer["content"] = FORMS[at % len(FORMS)].format(answer["content"], at)
    spots = [f"row {at} messages[1].content character *" for at in broken]
    return looked_at(rows, spots=spots)


FAULT = Fault(
    "copied-from-a-chat-page",
    "the model writes 'Copy code' above code",
    code="DAT064",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
