"""Messages of a trainer's dataset of which nothing is in the ids of their row.

Datasets of TRL keep their messages beside the ids that were made of them. The first
rows are read as they are stored, without the dataset's own transforms; ids are decoded,
and letters and digits are compared: white space, quotes and escapes may differ.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ftlab.probes.tokens.template_survey import left_as_it_was

ROWS = 16
"""First rows that are looked at."""

POSITIONS = 1 << 15
"""Tokens of them, at most: beyond, the rest is left out."""

LENGTH = 8
"""Letters and digits of a stretch of text that is searched for."""

TALKS = (("messages",), ("conversations",), ("prompt", "completion"))
"""Columns that hold a conversation."""

REASONING = ("reasoning_content", "reasoning", "thinking")

Found = tuple[str, int]
"""What is left out, and the number of its message."""


def left_out(trainer: Any) -> dict[str, Any]:
    """Tell what of the first conversations is not in their ids, by kind.

    Returns
    -------
    dict
        Such as ``{"left_out": {"rows": 16, "found": [{"kind": "system", "rows": 16,
        "row": 0, "message": 0}]}}``; empty where the dataset holds no messages, or
        where rows are made as they are asked for.
    """
    rows = list(_whole(_rows(trainer), getattr(trainer.args, "max_length", None)))
    tokenizer = getattr(trainer, "processing_class", None)
    inner = getattr(tokenizer, "tokenizer", tokenizer)
    if not rows or inner is None:
        return {}
    first: dict[str, tuple[int, int]] = {}
    counts: Counter[str] = Counter()
    with left_as_it_was(inner):
        for number, row in rows:
            found = dict(_lost(row, inner))
            counts.update(found.keys())
            for kind, message in found.items():
                first.setdefault(kind, (number, message))
    told = [
        {"kind": kind, "rows": counts[kind], "row": row, "message": message}
        for kind, (row, message) in first.items()
    ]
    return {"left_out": {"rows": len(rows), "found": told}}


def _rows(trainer: Any) -> list[Mapping[str, Any]]:
    """Read the first rows of a dataset that is a table of messages and ids."""
    data = trainer.train_dataset
    names = getattr(data, "column_names", None)
    if not isinstance(names, list) or not hasattr(data, "with_format"):
        return []
    talk = next((each for each in TALKS if set(each) <= set(names)), None)
    if talk is None or "input_ids" not in names or not hasattr(data, "select_columns"):
        return []
    plain = data.with_format(None).select_columns([*talk, "input_ids"])
    count = min(ROWS, len(plain))
    return [
        {"ids": row["input_ids"], "messages": _talk(row, talk)}
        for row in (plain[at] for at in range(count))
    ]


def _talk(row: Mapping[str, Any], columns: Iterable[str]) -> list[Any]:
    parts = [row[name] for name in columns]
    return [m for part in parts if isinstance(part, list) for m in part]


def _whole(
    rows: Sequence[Mapping[str, Any]], limit: object
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the rows that were not cut: several of the same greatest length may be."""
    lengths = [len(row["ids"]) for row in rows]
    longest = max(lengths, default=0)
    cut = longest if lengths.count(longest) > 1 else longest + 1
    if isinstance(limit, int):
        cut = min(cut, limit)
    room = POSITIONS
    for number, row in enumerate(rows):
        room -= len(row["ids"])
        if row["messages"] and len(row["ids"]) < cut and room >= 0:
            yield number, row


def _lost(row: Mapping[str, Any], tokenizer: Any) -> Iterator[Found]:
    """Yield what of a conversation is nowhere in its ids, the last of each kind."""
    text = _letters(str(tokenizer.decode(row["ids"])))

    def lacks(said: object) -> bool:
        stretches = list(_stretches(said, tokenizer))
        return bool(stretches) and not any(each in text for each in stretches)

    messages = [each for each in row["messages"] if isinstance(each, Mapping)]
    answers = [n for n, each in enumerate(messages) if each.get("role") == "assistant"]
    for number, each in enumerate(messages):
        if each.get("role") in ("system", "tool") and lacks(each.get("content")):
            yield str(each["role"]), number
        if any(lacks(call) for call in _calls(each)):
            yield "tool calls", number
    for number in answers[-1:]:
        if any(lacks(messages[number].get(name)) for name in REASONING):
            yield "reasoning", number


def _calls(message: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names and texts of tool calls, a line each."""
    for each in message.get("tool_calls") or ():
        function = each.get("function") if isinstance(each, Mapping) else None
        if isinstance(function, Mapping):
            arguments = function.get("arguments")
            held = arguments.values() if isinstance(arguments, Mapping) else [arguments]
            texts = [text for text in held if isinstance(text, str)]
            yield "\n".join([str(function.get("name")), *texts])


def _stretches(said: object, tokenizer: Any) -> Iterator[str]:
    """Yield what is searched for of a text, as the tokenizer gives it back."""
    if not isinstance(said, str) or not said.strip():
        return
    ids = tokenizer(said, add_special_tokens=False)["input_ids"]
    parts = [_letters(each) for each in re.split(r'[\n"\\]', tokenizer.decode(ids))]
    long = [each for each in parts if len(each) >= LENGTH]
    yield from long or filter(None, parts)


def _letters(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.casefold())
