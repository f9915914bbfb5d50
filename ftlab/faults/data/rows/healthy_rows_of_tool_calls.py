"""Calls of tools, whose content is null, and two results in a row."""

from typing import Any

from ftlab.faults.builders.rows import Writer, looked_at
from ftlab.faults.fault import Case, Healthy


def _talk(writer: Writer) -> list[dict[str, Any]]:
    calls = [
        {
            "type": "function",
            "id": f"call{n}",
            "function": {"name": "look", "arguments": {"town": writer.sentence()}},
        }
        for n in range(2)
    ]
    results = [
        {"role": "tool", "tool_call_id": f"call{n}", "content": f"{writer.number(99)}"}
        for n in range(2)
    ]
    asks = {"role": "assistant", "content": None, "tool_calls": calls}
    return [
        {"role": "system", "content": "You are helpful."},
        {"role": "user", "content": writer.question()},
        {**asks, "reasoning_content": writer.sentence()},
        *results,
        {"role": "assistant", "content": writer.text()},
    ]


def build() -> Case:
    """Call two tools, and answer with their results."""
    writer = Writer()
    return looked_at([{"messages": _talk(writer)} for _ in range(100)])


HEALTHY = Healthy(
    "calls have no content",
    looks_like=("DAT057", "DAT058", "DAT060"),
    steps=0,
)
