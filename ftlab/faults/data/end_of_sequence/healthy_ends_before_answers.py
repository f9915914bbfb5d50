"""Questions and answers end with the same token, and prompts end with it rightly."""

from ftlab.faults.builders.chats import (
    answers_only,
    chats,
    sampling,
    tokenizer,
    trained_on,
)
from ftlab.faults.fault import Case, Healthy

TEMPLATE = (
    "{% for m in messages %}{% if m['role'] == 'assistant' %}{% generation %}"
    "{{ m['content'] }}</s>{% endgeneration %}{% else %}{{ m['content'] }}</s>"
    "{% endif %}{% endfor %}"
)


def build() -> Case:
    """Write no roles, as DialoGPT does."""
    made = tokenizer(eos_token="</s>", template=TEMPLATE)
    talks = chats(turns=2)
    case = trained_on(made, answers_only(made, talks))
    case.trainer.add_callback(sampling(made, talks[:4], "left"))
    return case


HEALTHY = Healthy(
    "answers are generated behind the end of a question",
    looks_like=("DAT042",),
    steps=6,
)
