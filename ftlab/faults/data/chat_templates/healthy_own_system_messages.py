"""A template with a system text of its own, and data that give theirs.

The template writes its text where a conversation has no system message. Each of these
has one.
"""

from ftlab.faults.builders.chats import (
    TEMPLATE,
    answers_only,
    chats,
    tokenizer,
    trained_on,
)
from ftlab.faults.fault import Case, Healthy

_OWN = (
    "{{ bos_token }}{% if messages[0]['role'] != 'system' %}"
    "<turn>system\nsmall boats carry bread</turn>\n{% endif %}"
)


def build() -> Case:
    """Put a system message in front of each conversation."""
    made = tokenizer(template=TEMPLATE.replace("{{ bos_token }}", _OWN))
    told = {"role": "system", "content": "light falls by noon"}
    rows = answers_only(made, [[told, *talk] for talk in chats()])
    return trained_on(made, rows, max_steps=2)


HEALTHY = Healthy(
    "data with system messages for a template that has a text of its own",
    looks_like=("DAT038",),
    steps=2,
)
