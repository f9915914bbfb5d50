"""Openings of turns are plain text, as in Llama 2; the end of an answer is a token.

Answers alone are trained, in several turns.
"""

from ftlab.faults.builders.chats import answers_only, chats, tokenizer, trained_on
from ftlab.faults.fault import Case, Healthy

TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}{% if m['role'] == 'assistant' %}"
    "{% generation %} {{ m['content'] }}{{ eos_token }}{% endgeneration %}"
    "{% else %}[INST] {{ m['content'] }} [/INST]{% endif %}{% endfor %}"
)


def build() -> Case:
    """Train the answers, by the marks of the template."""
    made = tokenizer(template=TEMPLATE, eos_token="</s>")
    rows = answers_only(made, chats(turns=2))
    return trained_on(made, rows)


HEALTHY = Healthy(
    "openings are spelt, and only ends are tokens",
    looks_like=("DAT030", "DAT031", "DAT018", "DAT038"),
    steps=6,
)
