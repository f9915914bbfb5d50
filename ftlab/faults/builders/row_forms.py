"""Datasets of further forms: calls of tools, scored pairs, classes, rows of tokens."""

from typing import Any

from ftlab.faults.builders.chats import tokenizer
from ftlab.faults.builders.rows import ROWS, Writer, pairs

QUEUES = ("billing", "shipping", "refund", "other")
"""Classes of mails."""

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": name.replace("_", " "),
            "parameters": {"type": "object", "properties": {}},
        },
    }
    for name in ("get_weather", "book_table")
]
"""Tools that a row has."""


def called(count: int = ROWS) -> list[dict[str, Any]]:
    """Write conversations in which a tool is called once."""
    writer = Writer()
    return [{"messages": _call(writer, at), "tools": TOOLS} for at in range(count)]


def _call(writer: Writer, at: int) -> list[dict[str, Any]]:
    arguments = f'{{"town": "town {writer.number(999)}", "days": {writer.number(9)}}}'
    function = {"name": "get_weather", "arguments": arguments}
    call = {"id": f"call{at}", "type": "function", "function": function}
    result = f"{writer.number(30)} degrees"
    return [
        {"role": "user", "content": writer.question()},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"call{at}", "content": result},
        {"role": "assistant", "content": writer.text()},
    ]


def scored(count: int = ROWS) -> list[dict[str, Any]]:
    """Write preferences with the score of each side."""
    others = pairs(count, offset=1)
    return [
        {
            "prompt": row["prompt"],
            "chosen": row["completion"],
            "rejected": other["completion"],
            "score_chosen": 7.5 + at % 3,
            "score_rejected": 2.0 + at % 5,
        }
        for at, (row, other) in enumerate(zip(pairs(count), others, strict=True))
    ]


def labelled(count: int = ROWS) -> list[dict[str, str]]:
    """Write texts of four classes, each of them as often."""
    writer = Writer()
    return [
        {"text": writer.text(), "label": QUEUES[(at * 7 + at // 4) % 4]}
        for at in range(count)
    ]


def tokenised(count: int = ROWS) -> list[dict[str, Any]]:
    """Write rows of tokens, whose question is left out of the labels."""
    made, rows = tokenizer(), []
    for row in pairs(count):
        asked = made(row["prompt"], add_special_tokens=False)["input_ids"]
        answer = made(row["completion"], add_special_tokens=False)["input_ids"]
        ids = asked + answer
        labels = [-100] * len(asked) + answer
        rows.append(
            {"input_ids": ids, "labels": labels, "attention_mask": [1] * len(ids)}
        )
    return rows


def classified(count: int = 2 * ROWS) -> list[dict[str, Any]]:
    """Write texts with a place for each of four classes."""
    writer, rows = Writer(), []
    for _ in range(count):
        labels = [int(writer.number(3) == 1) for _ in range(4)]
        rows.append({"text": writer.text(), "labels": labels})
    return rows
