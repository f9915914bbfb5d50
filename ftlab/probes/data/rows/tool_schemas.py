"""Arguments of a call held against what its tool says it takes."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

_OPEN = ("patternProperties", "anyOf", "oneOf", "allOf", "$ref")
"""Keys of a schema that may name properties elsewhere."""

_REFUSED = re.compile(
    r"\b(?:missing|required?|invalid|unexpected|unknown|argument|parameter|schema|error)",
    re.IGNORECASE,
)
"""What the result of a call says that did not fit."""

LOOKED, RESULTS = 500, 3
"""Characters of a result, and messages behind a call, that are looked at."""


def unfit(name: str, arguments: Any, tools: Mapping[str, Any]) -> str:
    """Say why arguments do not fit their tool; nothing where they may.

    Parameters
    ----------
    tools
        The schemas of the tools, by name.

    Examples
    --------
    >>> from ftlab.probes.data.rows.tool_schemas import unfit
    >>> takes = {"properties": {"town": {"type": "string"}}, "required": ["town"]}
    >>> unfit("look", '{"city": "Oslo"}', {"look": takes})
    "look requires 'town'; it is called with 'city'"
    >>> unfit("look", {"town": "Oslo", "day": 3}, {"look": takes})
    "'day' is no argument of look, which takes 'town'"
    >>> unfit("look", {"town": "Oslo"}, {"look": takes})
    ''
    """
    takes = _takes(name, tools)
    given = read(arguments)
    if not isinstance(takes, Mapping) or not isinstance(given, Mapping):
        return ""
    required = takes.get("required")
    listed = required if isinstance(required, list | tuple) else ()
    for each in listed:
        if isinstance(each, str) and each not in given:
            return f"{name[:40]} requires {each!r}; it is called with {_names(given)}"
    properties = takes.get("properties")
    if not isinstance(properties, Mapping) or _takes_more(takes):
        return ""
    known = [each for each, about in properties.items() if about is not None]
    for each, value in given.items():
        if value is not None and each not in known and (known or _is_closed(takes)):
            takes_only = f"which takes {_names(known)}"
            return f"{str(each)[:40]!r} is no argument of {name[:40]}, {takes_only}"
    return ""


def _takes(name: str, tools: Mapping[str, Any]) -> Any:
    """Return what a tool takes, which a call may name with a prefix."""
    return tools.get(name, tools.get(name.rpartition(".")[2]))


def _takes_more(takes: Mapping[str, Any]) -> bool:
    others = takes.get("additionalProperties")
    return bool(others) or any(takes.get(key) for key in _OPEN)


def _is_closed(takes: Mapping[str, Any]) -> bool:
    return takes.get("additionalProperties") is False


def _names(names: Any) -> str:
    return ", ".join(f"{str(each)[:40]!r}" for each in list(names)[:4]) or "nothing"


def null_property(tools: Any) -> str:
    """Name a property of a tool that is null; nothing where none is.

    Examples
    --------
    >>> from ftlab.probes.data.rows.tool_schemas import null_property
    >>> takes = {"properties": {"town": {"type": "string"}, "day": None}}
    >>> null_property([{"function": {"name": "look", "parameters": takes}}])
    "'day' of look is null, which is no schema"
    """
    for tool in tools if isinstance(tools, list | tuple) else ():
        inner = tool.get("function", tool) if isinstance(tool, Mapping) else None
        takes = inner.get("parameters") if isinstance(inner, Mapping) else None
        for each in _null_keys(takes):
            name = str(inner.get("name"))[:40] if inner else ""
            return f"{str(each)[:40]!r} of {name} is null, which is no schema"
    return ""


def null_argument(name: str, arguments: Any, tools: Mapping[str, Any]) -> str:
    """Name an argument that is null, as its property is: nobody has meant it.

    Examples
    --------
    >>> from ftlab.probes.data.rows.tool_schemas import null_argument
    >>> takes = {"properties": {"town": {"type": "string"}, "day": None}}
    >>> null_argument("look", {"town": "Oslo", "day": None}, {"look": takes})
    "'day' is null, and so is its property of look"
    """
    given = read(arguments)
    if isinstance(given, Mapping):
        for each in _null_keys(_takes(name, tools)):
            if each in given and given[each] is None:
                return f"{str(each)[:40]!r} is null, and so is its property of {name}"
    return ""


def _null_keys(takes: Any) -> list[Any]:
    held = takes.get("properties") if isinstance(takes, Mapping) else None
    if not isinstance(held, Mapping):
        return []
    return [each for each, about in held.items() if about is None]


def is_refused(talk: Sequence[Any], at: int) -> bool:
    """Tell whether what follows a call says that it was wrong.

    Examples
    --------
    >>> from ftlab.probes.data.rows.tool_schemas import is_refused
    >>> is_refused([{}, {"role": "tool", "content": "missing: town"}], 0)
    True
    """
    return any(map(_refuses, talk[at + 1 : at + 1 + RESULTS]))


def _refuses(message: Any) -> bool:
    if not isinstance(message, Mapping):
        return False
    said = message.get("content", message.get("value"))
    said = said if isinstance(said, str) else json.dumps(said, default=str)
    return _REFUSED.search(said, 0, LOOKED) is not None


def read(text: Any) -> Any:
    """Return what a text of JSON holds, ``None`` for another; what is no text stays."""
    if not isinstance(text, str):
        return text
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
