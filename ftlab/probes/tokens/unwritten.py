"""What messages say of which nothing is in the ids that were made of them.

Ids are decoded, and letters and digits are compared: white space, quotes and escapes
may differ.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ftlab.probes.templates.marks import REASONING, THOUGHT
from ftlab.probes.tokens.template_survey import left_as_it_was

LENGTH, LONGEST = 8, 24
"""Letters and digits of a stretch of text that is searched for: at least, at most."""

_THOUGHT = re.compile(r"\s*(?:<(\w+)>|\[(\w+)\])(.+?)(?:</\1>|\[/\2\])\s*\S", re.DOTALL)
"""A reasoning at the beginning of an answer, between tags, and more behind it."""

_INDENTED = re.compile(r"\s*?(?: {4,}|\t|  (?=\S.*\n  ))[ \t]*(\S.*)")
"""The first line of a text that begins with an indentation: one that lines share."""

ROLES = ("system", "developer", "user", "assistant", "tool")
"""Whose texts are looked for."""

Written = tuple[int, Sequence[Any], Sequence[int]]
"""The number of a row, its messages and its ids."""

Found = tuple[str, int]
"""What is left out, and the number of its message."""


def unwritten(rows: Iterable[Written], tokenizer: Any) -> dict[str, Any]:
    """Tell what of conversations is not in their ids, by kind.

    Returns
    -------
    dict
        Such as ``{"rows": 16, "found": [{"kind": "system", "rows": 16, "row": 0,
        "message": 0}]}``; a kind is a role, ``"tool calls"`` or ``"reasoning"``. Empty
        without rows.

    Examples
    --------
    >>> from ftlab.probes.tokens.unwritten import unwritten
    >>> unwritten([], None)
    {}
    """
    first: dict[str, tuple[int, int]] = {}
    counts: Counter[str] = Counter()
    looked = 0
    with left_as_it_was(tokenizer):
        for number, messages, ids in rows:
            found = dict(_lost(messages, ids, tokenizer))
            looked += 1
            counts.update(found.keys())
            for kind, message in found.items():
                first.setdefault(kind, (number, message))
    told = [
        {"kind": kind, "rows": counts[kind], "row": row, "message": message}
        for kind, (row, message) in first.items()
    ]
    return {"rows": looked, "found": told} if looked else {}


def _lost(talk: Sequence[Any], ids: Sequence[int], tokenizer: Any) -> Iterator[Found]:
    """Yield what of a conversation is nowhere in its ids, the last of each kind."""
    written = str(tokenizer.decode(list(ids)))
    text = _letters(written)

    def lacks(said: object) -> bool:
        stretches = list(_stretches(said, tokenizer))
        return bool(stretches) and not any(each in text for each in stretches)

    messages = [each for each in talk if isinstance(each, Mapping)]
    answers = [n for n, each in enumerate(messages) if each.get("role") == "assistant"]
    for number, each in enumerate(messages):
        if each.get("role") in ROLES and lacks(_parted(each)[1]):
            yield str(each["role"]), number
        if any(map(lacks, _calls(each))):
            yield "tool calls", number
        if number in answers and _set_back(each.get("content"), written, tokenizer):
            yield "indentation", number
    asked = [n for n, each in enumerate(messages) if each.get("role") == "user"]
    for number in answers[-1:] if answers and answers[-1:] > asked[-1:] else ():
        message = messages[number]
        thoughts = [_parted(message)[0], *map(message.get, REASONING)]
        if any(map(lacks, thoughts)):
            yield "reasoning", number


def _set_back(content: object, written: str, tokenizer: Any) -> bool:
    """Tell whether the first line of a text has lost its indentation.

    Not by a tokenizer that never keeps one.
    """
    found = _INDENTED.match(content) if isinstance(content, str) else None
    if found is None:
        return False
    alone = tokenizer.decode(tokenizer(f"x\n{content}")["input_ids"])
    line = found[1][:LONGEST]
    return _indents(written, line) == {False} and True in _indents(alone, line)


def _indents(text: str, line: str) -> set[bool]:
    """Tell of each place of a line whether it is indented there."""
    places = (each.start() for each in re.finditer(re.escape(line), text))
    return {text[:place].endswith(("  ", "\t")) for place in places}


def _parted(message: Mapping[str, Any]) -> tuple[str, str]:
    """Return the reasoning that a content opens with, and the rest of it.

    A tag of HTML opens a content as well: only what is named a thought counts.
    """
    content = message.get("content")
    text = content if isinstance(content, str) else ""
    found = _THOUGHT.match(text)
    if found is None or not THOUGHT.search(found[1] or found[2]):
        return "", text
    return found[3], text[found.end() - 1 :]


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
    for each in long:
        last = max(1, len(each) - LENGTH + 1)
        yield from (each[at : at + LONGEST] for at in range(0, last, LONGEST))
    if not long:
        yield from filter(None, parts)


def _letters(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.casefold())
