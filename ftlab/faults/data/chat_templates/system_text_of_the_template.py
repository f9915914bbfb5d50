"""Each row begins with a system text that is nowhere in the data.

The chat template writes one where the messages have none. An engine that renders by a
template of its own begins otherwise.

Fix: a system message in the data and in each request.

Source: hiyouga/LlamaFactory#10772.
"""

from ftlab.faults.builders.chats import TEMPLATE, answers_only, tokenizer, trained_on
from ftlab.faults.fault import Case, Fault

_OWN = (
    "{{ bos_token }}{% if messages[0]['role'] != 'system' %}"
    "<turn>system\nsmall boats carry bread</turn>\n{% endif %}"
)


def build(fixed: bool) -> Case:
    """Give no system message to a template that has one of its own."""
    own = TEMPLATE.replace("{{ bos_token }}", _OWN)
    made = tokenizer(template=TEMPLATE if fixed else own)
    rows = answers_only(made)
    return trained_on(made, rows, max_steps=2)


FAULT = Fault(
    "the template writes a system text of its own",
    code="DAT038",
    places=("token * of sample *",),
    steps=2,
    evident=1,
)
