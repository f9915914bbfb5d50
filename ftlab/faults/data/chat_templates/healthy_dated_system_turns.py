"""A template that begins each system turn with a text of its own.

Where there is no system message it writes a turn of that text alone. Half of the
conversations have one, and the text stands in the same turn.
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
    "{{ bos_token }}<turn>system\nthe year of a river\n"
    "{% if messages[0]['role'] == 'system' %}{{ messages[0]['content'] }}"
    "{% set messages = messages[1:] %}{% endif %}</turn>\n"
)


def build() -> Case:
    """Put a system message in front of every second conversation."""
    made = tokenizer(template=TEMPLATE.replace("{{ bos_token }}", _OWN))
    told = {"role": "system", "content": "light falls by noon"}
    talks = [[told, *t] if n % 2 else t for n, t in enumerate(chats())]
    rows = answers_only(made, talks)
    return trained_on(made, rows, max_steps=2)


HEALTHY = Healthy(
    "the template writes a system text beside that of the data",
    looks_like=("DAT038",),
    steps=2,
)
