"""What a row says, and who says it: read by its format, as its columns tell it.

Known are conversations, preferences, prompts with an answer, prompts, texts alone or
beside a label, and ids of tokens.
"""

from collections.abc import Mapping
from dataclasses import replace
from numbers import Integral
from typing import Any

from ftlab.probes.data.rows.messages import (
    joined,
    kind_of,
    mapping_of,
    message_fault,
    said_by,
    unfolded,
)
from ftlab.probes.data.rows.other_columns import other_columns
from ftlab.probes.data.rows.parts import Part, RowFault, RowParts
from ftlab.probes.data.rows.plain import plain
from ftlab.probes.tokens.dataset_rows import TALKS, TEXTS

PAIRS = (
    ("prompt", "completion"),
    ("prompt", "response"),
    ("instruction", "output"),
    ("instruction", "response"),
    ("question", "answer"),
    ("question", "response"),
    ("query", "response"),
    ("query", "answer"),
    ("problem", "solution"),
    ("prompt", "answer"),
    ("prompt", "solution"),
    ("input", "output"),
    ("source", "target"),
    ("document", "summary"),
    ("article", "highlights"),
    ("dialogue", "summary"),
)
"""Columns that hold a question and its answer, in the order in which they are tried."""

FURTHER = ("input", "context", "passage", "document", "choices", "options")
"""What goes on with a prompt, as a text or a list of texts."""

MEDIA = ("image", "images", "audio", "audios", "video", "videos")
LABELS = ("label", "labels")
JUDGED = (*LABELS, "score", "rating", "reward")
"""Columns that say how good an answer is, or what it is."""

_SILENT = frozenset(
    {"role", "content", "from", "value", "name", "weight", "train"}
    | {"reasoning_content", "reasoning", "thinking"}
)
"""Keys of a message that are no answer of their own."""


def parts_of(row: Any) -> RowParts:
    """Read a row.

    Examples
    --------
    >>> from ftlab.probes.data.rows.formats import parts_of
    >>> read = parts_of({"prompt": "1+1?", "completion": "2"})
    >>> read.kind, [(part.role, part.text) for part in read.parts]
    ('prompt and answer', [('user', '1+1?'), ('assistant', '2')])
    >>> parts_of({"a": 1}).faults
    (('unknown-columns', '', 'the row holds a'),)
    """
    row = mapping_of(row)
    read = _parts_of(row)
    if len(row) == 1 or read.kind == "tokens" or not read.parts:
        return read
    columns = {part.column for part in read.parts}
    if len(row) == len(columns):
        return read
    others = other_columns(row, columns)
    return read if others is None else replace(read, others=others)


def _parts_of(row: Mapping[str, Any]) -> RowParts:
    for talk in TALKS:
        if row.get(talk) is not None:
            return _talk(row, talk)
    if "chosen" in row and "rejected" in row:
        return _preference(row)
    if row.get("input_ids") is not None:
        return _ids(row["input_ids"])
    for prompt, answer in PAIRS:
        if (
            prompt in row
            and answer in row
            and may_be_said(row[prompt])
            and may_be_said(row[answer])
        ):
            return _pair(row, prompt, answer)
    return _single(row)


def may_be_said(value: Any) -> bool:
    """Tell whether a value is a text or messages, and no record of another form."""
    value = value if isinstance(value, str) else plain(value)
    if isinstance(value, list | tuple):
        return all(isinstance(each, Mapping) for each in value)
    return value is None or isinstance(value, str | int | float)


def _ids(value: Any) -> RowParts:
    """Read the ids of tokens, one after another."""
    ids = plain(value)
    if not isinstance(ids, list | tuple):
        said = f"input_ids {kind_of(ids)}, not a list of ids"
    elif not set(map(type, ids)) <= {int} and not all(
        isinstance(each, Integral) for each in ids
    ):
        said = "input_ids holds what is no id"
    else:
        return RowParts("tokens", beside=ids)
    return RowParts("", faults=(("unknown-columns", "input_ids", said),))


def _single(row: Mapping[str, Any]) -> RowParts:
    """Read a text, a prompt alone, or the texts beside a label."""
    for name in TEXTS:
        if isinstance(row.get(name), str):
            part = Part(name, -1, "", row[name])
            return RowParts("text", (part,), _beside(row, LABELS))
    faults: list[RowFault] = []
    if row.get("prompt") is not None:
        parts = _value(row["prompt"], "prompt", "user", faults)
        return RowParts("prompt", tuple(parts), _beside(row), tuple(faults))
    empty = next((n for n in (*TALKS, *TEXTS, "input_ids") if n in row), None)
    if empty is None and not row.keys().isdisjoint(LABELS):
        texts = {name: row[name] for name in row if name not in LABELS}
        held = [Part(n, -1, "", t) for n, t in texts.items() if isinstance(t, str)]
        if held:
            return RowParts("text", tuple(held), _beside(row, LABELS))
    columns = ", ".join(str(name)[:40] for name in list(row)[:8]) or "nothing"
    said = f"{empty} {kind_of(row[empty])}" if empty else f"the row holds {columns}"
    return RowParts("", faults=(("unknown-columns", empty or "", said),))


def _talk(row: Mapping[str, Any], column: str) -> RowParts:
    faults: list[RowFault] = []
    parts = _messages(row[column], column, faults)
    return _answered(row, "messages", parts, faults)


def _pair(row: Mapping[str, Any], prompt: str, answer: str) -> RowParts:
    faults: list[RowFault] = []
    parts: list[Part] = []
    if isinstance(row.get("system"), str):
        parts.append(Part("system", -1, "system", row["system"]))
    parts += _value(row[prompt], prompt, "user", faults)
    for name in FURTHER if len(row) > 2 else ():
        if name != prompt and (text := _further(row.get(name))) is not None:
            parts.append(Part(name, -1, "user", text))
    parts += _value(row[answer], answer, "assistant", faults)
    return _answered(row, "prompt and answer", parts, faults)


def _further(value: Any) -> str | None:
    """Return a text, or the texts of a list in one; ``None`` for anything else."""
    if value is None or isinstance(value, str):
        return value
    texts = plain(value)
    listed = isinstance(texts, list | tuple) and all(isinstance(t, str) for t in texts)
    return "\n".join(texts) if listed and texts else None


def _answered(
    row: Mapping[str, Any], kind: str, parts: list[Part], faults: list[RowFault]
) -> RowParts:
    """Put together a row whose answer may be judged."""
    if len(row) == 1:
        return RowParts(kind, tuple(parts), None, tuple(faults))
    read = RowParts(kind, tuple(parts), _beside(row), tuple(faults))
    if row.keys().isdisjoint(JUDGED):
        return read
    label = next((row[name] for name in LABELS if row.get(name) is not None), None)
    return replace(read, label=label, judged=True)


def _preference(row: Mapping[str, Any]) -> RowParts:
    faults: list[RowFault] = []
    prompt = row.get("prompt")
    parts = _value(prompt, "prompt", "user", faults) if prompt is not None else []
    chosen = _value(row["chosen"], "chosen", "assistant", faults)
    rejected = _value(row["rejected"], "rejected", "assistant", faults)
    if _texts(chosen) == _texts(rejected) and _texts(chosen):
        faults.append(("equal-pair", "rejected", "the same as chosen"))
    every = (*parts, *chosen, *rejected)
    return RowParts("preference", every, _beside(row), tuple(faults), judged=True)


def _texts(parts: list[Part]) -> list[tuple[str, str]]:
    return [(part.role, part.text) for part in parts]


def _value(value: Any, column: str, role: str, faults: list[RowFault]) -> list[Part]:
    """Read a text, or messages, which a prompt or an answer may be as well."""
    if isinstance(value, str):
        return [Part(column, -1, role, value)]
    value = plain(value)
    if value is None or value != value:  # what pandas takes for missing
        return [Part(column, -1, role, "")]
    if isinstance(value, int | float):
        return [Part(column, -1, role, str(value))]
    return _messages(value, column, faults)


def _messages(talk: Any, column: str, faults: list[RowFault]) -> list[Part]:
    talk = unfolded(talk)
    if not isinstance(talk, list | tuple):
        said = f"{kind_of(talk)}, not a list of messages"
        faults.append(("malformed-messages", column, said))
        return []
    if not talk:
        faults.append(("malformed-messages", column, "holds no message"))
    parts = []
    for index, message in enumerate(talk):
        if type(message) is dict and type(role := message.get("role")) is str:
            content, key = message.get("content"), "content"  # what nearly all are
        else:
            role, content, key = said_by(message)
        if role is None:
            said = f"a message {message_fault(message)}"
            faults.append(("malformed-messages", f"{column}[{index}]", said))
            continue
        text, more = (content, False) if isinstance(content, str) else joined(content)
        if text is None:
            said, where = f"{key} {kind_of(content)}", f"{column}[{index}].{key}"
            faults.append(("malformed-messages", where, said))
            continue
        if not text or text.isspace() or text.startswith("<think"):
            held = (plain(message[k]) for k in message if k not in _SILENT)
            more = more or any(held)
        parts.append(Part(column, index, role, text, more, key))
    return parts


def _beside(row: Mapping[str, Any], names: tuple[str, ...] = ()) -> Any:
    """Return what tells rows of equal texts apart: pictures, tools and labels."""
    asked = (*names, *MEDIA, "tools")
    if row.keys().isdisjoint(asked):
        return None
    return [row[name] for name in asked if row.get(name) is not None] or None
