"""The model is trained to say nothing where it should call a tool.

The chat template writes the content of a message and has no branch for ``tool_calls``:
the turn of a call is empty, and nothing is raised.

Fix: a template that writes tool calls, or calls as part of the content.

Source: huggingface/trl#5517.
"""

from typing import Any

from ftlab.faults.builders.chats import (
    TEMPLATE,
    answers_only,
    chats,
    tokenizer,
    trained_on,
)
from ftlab.faults.fault import Case, Fault

_CONTENT = "{% generation %}{{ m['content'] }}"
_CALLS = (
    "{% for each in m['tool_calls'] or [] %}{{ each['function'] | tojson }}{% endfor %}"
)


def build(fixed: bool) -> Case:
    """Leave the branch out."""
    written = TEMPLATE.replace(_CONTENT, _CONTENT + _CALLS)
    made = tokenizer(template=written if fixed else TEMPLATE)
    rows = answers_only(made, [_calling(talk) for talk in chats()])
    return trained_on(made, rows, max_steps=2)


def _calling(talk: list[dict[str, str]]) -> list[dict[str, Any]]:
    """Answer with the result of a tool."""
    question, answer = talk
    function = {"name": "look_up", "arguments": {"place": "river"}}
    call = {"id": "c1", "type": "function", "function": function}
    return [
        question,
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "name": "look_up", "content": "small boats"},
        answer,
    ]


FAULT = Fault(
    "tool calls are not in the text that is trained",
    code="DAT036",
    places=("token * of sample *",),
    steps=2,
    evident=1,
    also=("DAT031",),
)
