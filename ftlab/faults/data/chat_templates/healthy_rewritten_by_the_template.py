"""A template that strips texts, escapes results of tools and shortens its history."""

from ftlab.faults.builders.chats import REASONING, chats, supervised_on, tokenizer
from ftlab.faults.fault import Case, Healthy

_STRIPPED = REASONING.replace(
    "{% else %}{{ m['content'] }}",
    "{% elif m['role'] == 'tool' %}{{ m['content'] | tojson }}</turn>\n"
    "{% else %}{{ m['content'] | trim }}",
)


def build() -> Case:
    """Train the last answers of conversations with a tool."""
    made = tokenizer(template=_STRIPPED)
    result = {"role": "tool", "content": 'light on "every stone"\nby noon'}
    rule = {"role": "system", "content": "  small boats carry bread \n"}
    talks = []
    for question, answer in chats():
        thought = {**answer, "content": f"<think>salt</think>{answer['content']}"}
        talks.append([rule, question, thought, result, thought])
    return supervised_on(made, talks)


HEALTHY = Healthy(
    "messages are in the ids, in another writing",
    looks_like=("DAT036",),
    steps=6,
    needs=("trl>=0.24", "datasets"),
)
