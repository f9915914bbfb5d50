"""Tool calls that are part of the content, for a template that knows of none."""

from ftlab.faults.builders.chats import answers_only, chats, tokenizer, trained_on
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Write each call as JSON, and its result as the message of a tool."""
    made = tokenizer()
    talks = [
        [
            question,
            {"role": "assistant", "content": '{"name": "look_up", "place": "river"}'},
            {"role": "tool", "content": "small boats"},
            answer,
        ]
        for question, answer in chats()
    ]
    rows = answers_only(made, talks)
    return trained_on(made, rows)


HEALTHY = Healthy(
    "the template writes no tool calls, and none are given to it",
    looks_like=("DAT036",),
    steps=6,
)
