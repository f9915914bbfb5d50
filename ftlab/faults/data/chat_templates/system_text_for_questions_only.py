"""A system text is in each prompt, and in no row of the training.

The chat template writes it into the last message, where that is a question. A row of
the training ends with an answer, and has none.

Fix: write the system text into the first question, or take a template that writes it
at the beginning.

Source: the chat template of Mistral-Nemo-Instruct-2407, which writes the system text
into the last message where that is the user's.
"""

from ftlab.faults.builders.chats import TEMPLATE, chats, supervised_on, tokenizer
from ftlab.faults.fault import Case, Fault

_LATE = TEMPLATE.replace(
    "{% for m in messages %}",
    "{% for m in messages if m['role'] != 'system' %}"
    "{% if loop.last and m['role'] == 'user' and messages[0]['role'] == 'system' %}"
    "<turn>system\n{{ messages[0]['content'] }}</turn>\n{% endif %}",
)


def build(fixed: bool) -> Case:
    """Train conversations that begin with a system message."""
    made = tokenizer(template=TEMPLATE if fixed else _LATE)
    rule = {"role": "system", "content": "small boats carry bread"}
    return supervised_on(made, [[rule, *talk] for talk in chats()])


FAULT = Fault(
    "the system text of the data is in no row that is trained",
    code="DAT036",
    places=("data message 0 of row 0",),
    steps=2,
    evident=-1,
    needs=("trl>=0.24", "datasets"),
)
