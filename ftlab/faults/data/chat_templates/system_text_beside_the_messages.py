"""Each row has two system turns: the template's own, and that of the data.

The chat template writes its default in front of all messages, without asking whether
the first of them is a system message.

Fix: ``{% if messages[0]['role'] != 'system' %}`` around the default.

Source: modelscope/ms-swift#2328.
"""

from ftlab.faults.builders.chats import (
    TEMPLATE,
    answers_only,
    chats,
    tokenizer,
    trained_on,
)
from ftlab.faults.fault import Case, Fault

_OWN = "<turn>system\nsmall boats carry bread</turn>\n"


def build(fixed: bool) -> Case:
    """Give system messages to a template that has one of its own."""
    asked = "{% if messages[0]['role'] != 'system' %}" + _OWN + "{% endif %}"
    own = "{{ bos_token }}" + (asked if fixed else _OWN)
    made = tokenizer(template=TEMPLATE.replace("{{ bos_token }}", own))
    told = {"role": "system", "content": "light falls by noon"}
    rows = answers_only(made, [[told, *talk] for talk in chats()])
    return trained_on(made, rows, max_steps=2)


FAULT = Fault(
    "each row begins with two system texts",
    code="DAT038",
    places=("token * of sample *",),
    steps=2,
    evident=1,
)
