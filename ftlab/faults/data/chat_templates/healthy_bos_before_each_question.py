"""A template that writes BOS in front of each question, behind the EOS of an answer."""

from ftlab.faults.builders.chats import (
    TEMPLATE,
    answers_only,
    chats,
    tokenizer,
    trained_on,
)
from ftlab.faults.fault import Case, Healthy

_EACH = TEMPLATE.replace("{{ bos_token }}", "").replace(
    "<turn>{{ m['role'] }}",
    "{% if m['role'] == 'user' %}{{ bos_token }}{% endif %}<turn>{{ m['role'] }}",
)


def build() -> Case:
    """Train the answers of conversations of two turns each, as Llama 2 writes them."""
    template = _EACH.replace("</turn>{% endg", "</s>{% endg")
    made = tokenizer(template=template, eos_token="</s>")
    rows = answers_only(made, chats(turns=2))
    return trained_on(made, rows)


HEALTHY = Healthy(
    "each sample has two BOS",
    looks_like=("DAT022",),
    steps=6,
)
