"""Rows and messages as they stand, in the notations of one and another library."""

from collections.abc import Mapping
from typing import Any

from ftlab.probes.data.rows.plain import plain
from ftlab.probes.tokens.sources import SPEAKERS

_TEXT_PARTS = ("text", "input_text", "output_text")


def mapping_of(row: Any) -> Mapping[str, Any]:
    """Return a row by its columns; a text or messages alone as the only one.

    Examples
    --------
    >>> from ftlab.probes.data.rows.messages import mapping_of
    >>> mapping_of("Once.")
    {'text': 'Once.'}
    """
    # asking the abstract class costs more than reading a short row
    if type(row) is dict or isinstance(row, Mapping):
        return row
    row = plain(row)
    return {"text": row} if isinstance(row, str) else {"messages": row}


def said_by(message: Any) -> tuple[str | None, Any, str]:
    """Return who says a message, what, and under which key; ``None`` where it is none.

    Examples
    --------
    >>> from ftlab.probes.data.rows.messages import said_by
    >>> said_by({"from": "human", "value": "Why?"})
    ('user', 'Why?', 'value')
    """
    # asking the abstract class costs more than reading a message
    if type(message) is not dict and not isinstance(message, Mapping):
        return None, None, ""
    role = message.get("role")
    if isinstance(role, str):
        return role, message.get("content"), "content"
    speaker = message.get("from")
    if isinstance(speaker, str):
        return SPEAKERS.get(speaker, speaker), message.get("value"), "value"
    return None, None, ""


def joined(content: Any) -> tuple[str | None, bool]:
    """Join the text parts of a message, and tell whether there are others.

    ``None`` where it is neither text nor parts.
    """
    if content is None:
        return "", False
    content = plain(content)
    if not isinstance(content, list | tuple):
        return None, False
    texts = []
    for part in content:
        if isinstance(part, str):
            texts.append(part)
        elif not isinstance(part, Mapping):
            return None, False
        elif part.get("type") in _TEXT_PARTS and isinstance(part.get("text"), str):
            texts.append(part["text"])
    return "\n".join(texts), len(texts) < len(content)


def unfolded(talk: Any) -> Any:
    """Turn columns of messages into messages: datasets keeps lists of rows so."""
    if not isinstance(talk, Mapping):
        return talk if isinstance(talk, list) else plain(talk)
    held = {name: plain(column) for name, column in talk.items()}
    columns = {name: each for name, each in held.items() if isinstance(each, list)}
    if not columns or len({len(v) for v in columns.values()}) != 1:
        return talk
    rows = zip(*columns.values(), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def message_fault(message: Any) -> str:
    """Say why a message has no role."""
    if not isinstance(message, Mapping):
        return kind_of(message)
    held = ", ".join(str(key)[:20] for key in list(message)[:6]) or "nothing"
    return f"without a role; it holds {held}"


def kind_of(value: Any) -> str:
    """Say what a value is that should be something else."""
    if isinstance(value, str):
        return "is a text"
    return "is missing" if value is None else f"is of type {type(value).__name__}"
