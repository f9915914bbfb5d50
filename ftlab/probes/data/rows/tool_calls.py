"""Calls of tools that nobody can carry out, and results that answer none.

A call is held against the tools of its row: their names, and the properties that they
take.
"""

import ast
import difflib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ftlab.probes.data.rows.parts import ROLES, RowFault

_OPEN = (
    *("patternProperties", "anyOf", "oneOf", "allOf", "$ref"),
    "additionalProperties",
)
"""Keys of a schema that allow, or name elsewhere, further properties."""

_REFUSED = re.compile(
    r"\b(?:missing|required?|invalid|unexpected|unknown|argument|parameter|schema|error)",
    re.IGNORECASE,
)
"""What the result of a call says that did not fit."""

LOOKED, RESULTS = 500, 3
"""Characters of a result, and messages behind a call, that are looked at."""


class Call(NamedTuple):
    """A call: number of its message, name of its tool, and arguments."""

    at: int
    name: str
    arguments: Any


def call_faults(
    row: Mapping[str, Any], column: str, talk: Sequence[Any]
) -> Iterator[RowFault]:
    """Yield what is wrong with the calls of a conversation, each kind once.

    Parameters
    ----------
    column, talk
        The messages, and whose value they are.

    Examples
    --------
    >>> from ftlab.probes.data.rows.tool_calls import call_faults
    >>> call = {"function": {"name": "look", "arguments": '{"town": "Os'}}
    >>> talk = [{"role": "assistant", "tool_calls": [call]}]
    >>> [(name, where) for name, where, _ in call_faults({}, "messages", talk)]
    [('arguments-broken', 'messages[0].tool_calls')]
    """
    tools = tools_of(row.get("tools"))
    nulls = [(name, key) for name, takes in tools.items() for key in _nulls(takes)]
    for name, null in nulls[:1]:
        says = f"{null!r} of {name[:40]} is null, which is no schema"
        yield "schema-null", "tools", says
    called, key = _calls_of(talk)
    if not called:
        return
    if key == "tool_calls":
        yield from _results(column, talk)
    seen = set()
    for call in called:
        where = f"{column}[{call.at}].{key}"
        for name, says in _judged(call, tools, talk):
            if name not in seen:
                seen.add(name)
                yield name, where, says


def _calls_of(talk: Sequence[Any]) -> tuple[list[Call], str]:
    """Return all calls, and under which key of a message they stand."""
    messages = [each if isinstance(each, Mapping) else {} for each in talk]
    if any("tool_calls" in each for each in messages):
        return [
            Call(at, *_name_and_arguments(call))
            for at, message in enumerate(messages)
            for call in _held(message)
        ], "tool_calls"
    called = []
    for at, message in enumerate(messages):
        text = message.get("value")
        of_tool = ROLES.get(str(message.get("from"))) == "c"
        if of_tool and isinstance(text, str) and text.lstrip().startswith("{"):
            call = read_json(text)
            whole = isinstance(call, Mapping)
            called.append(
                Call(at, *(_name_and_arguments(call) if whole else ("", text)))
            )
    return called, "value"


def _held(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    held = message.get("tool_calls")
    calls = held if isinstance(held, list | tuple) else ()
    return [each for each in calls if isinstance(each, Mapping)]


def _name_and_arguments(call: Mapping[str, Any]) -> tuple[str, Any]:
    inner = call.get("function")
    inner = inner if isinstance(inner, Mapping) else call
    return str(inner.get("name") or ""), inner.get("arguments")


def _results(column: str, talk: Sequence[Any]) -> Iterator[RowFault]:
    """Yield the first result that names a call which nobody made."""
    ids: set[str] = set()
    for at, message in enumerate(talk):
        if not isinstance(message, Mapping):
            continue
        ids |= {str(call["id"]) for call in _held(message) if call.get("id")}
        told = message.get("tool_call_id")
        if told and ids and str(told) not in ids:
            says = f"{str(told)[:40]!r} is no id of a call before it"
            yield "result-of-no-call", f"{column}[{at}].tool_call_id", says
            return


def _judged(
    call: Call, tools: Mapping[str, Any], talk: Sequence[Any]
) -> Iterator[tuple[str, str]]:
    """Yield kinds of faults of a call, and what is there."""
    broken = _broken(call.arguments)
    if broken:
        yield broken
    if not tools or not call.name:
        return
    name = next(
        (n for n in (call.name, call.name.rpartition(".")[2]) if n in tools), ""
    )
    if not name:
        near = difflib.get_close_matches(call.name, tools, 1, 0.6)
        held = f"near {near[0]!r}" if near else f"of {len(tools)}"
        says = f"calls {call.name[:40]!r}, which is none of the row's tools ({held})"
        yield "unknown-tool", says
        return
    takes, given = tools[name], read_json(call.arguments)
    if not isinstance(given, Mapping):
        return
    for key in _nulls(takes):
        if key in given and given[key] is None:
            yield "arguments-null", f"{key!r} is null, and so is its property of {name}"
            break
    says = _unfit(name, given, takes)
    if says and not any(map(_refuses, talk[call.at + 1 : call.at + 1 + RESULTS])):
        yield "arguments-unfit", says


def _broken(arguments: Any) -> tuple[str, str] | None:
    """Say why arguments cannot be read; a text that begins as none is no JSON."""
    if not isinstance(arguments, str) or not arguments.lstrip().startswith("{"):
        return None
    try:
        json.loads(arguments, strict=False)
    except RecursionError:
        return None
    except ValueError as error:
        try:
            ast.literal_eval(arguments.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            says = f"{arguments[-30:]!r} is no JSON: {error}"
            return "arguments-broken", says
        return "arguments-of-python", f"{arguments[:60]!r}"
    return None


def _unfit(name: str, given: Mapping[str, Any], takes: Any) -> str:
    """Say why arguments do not fit their tool; nothing where they may."""
    if not isinstance(takes, Mapping):
        return ""
    required = takes.get("required")
    for each in required if isinstance(required, list | tuple) else ():
        if isinstance(each, str) and each not in given:
            return f"{name[:40]} requires {each!r}; it is called with {_names(given)}"
    properties = takes.get("properties")
    if not isinstance(properties, Mapping) or any(takes.get(key) for key in _OPEN):
        return ""
    known = [each for each, about in properties.items() if about is not None]
    closed = takes.get("additionalProperties") is False
    for each, value in given.items():
        if value is not None and each not in known and (known or closed):
            takes_only = f"which takes {_names(known)}"
            return f"{str(each)[:40]!r} is no argument of {name[:40]}, {takes_only}"
    return ""


def _names(names: Any) -> str:
    return ", ".join(f"{str(each)[:40]!r}" for each in list(names)[:4]) or "nothing"


def _nulls(takes: Any) -> list[Any]:
    """Return the properties that are null: Arrow fills in those of other tools."""
    held = takes.get("properties") if isinstance(takes, Mapping) else None
    if not isinstance(held, Mapping):
        return []
    return [str(each)[:40] for each, about in held.items() if about is None]


def _refuses(message: Any) -> bool:
    """Tell whether what follows a call says that it was wrong."""
    if not isinstance(message, Mapping):
        return False
    said = message.get("content", message.get("value"))
    said = said if isinstance(said, str) else json.dumps(said, default=str)
    return _REFUSED.search(said, 0, LOOKED) is not None


def tools_of(tools: Any) -> dict[str, Any]:
    """Return what each tool takes, by name; nothing where one has no name.

    Examples
    --------
    >>> from ftlab.probes.data.rows.tool_calls import tools_of
    >>> tools_of('[{"type": "function", "function": {"name": "look"}}]')
    {'look': None}
    """
    tools = read_json(tools)
    known: dict[str, Any] = {}
    for each in map(read_json, tools if isinstance(tools, list | tuple) else ()):
        inner = each.get("function") if isinstance(each, Mapping) else None
        inner = inner if isinstance(inner, Mapping) else each
        if not isinstance(inner, Mapping) or not inner.get("name"):
            return {}
        takes = inner.get("parameters", inner.get("input_schema"))
        known[str(inner["name"])] = read_json(takes)
    return known


def read_json(text: Any) -> Any:
    """Return what a text of JSON holds, ``None`` for another; what is no text stays.

    Examples
    --------
    >>> from ftlab.probes.data.rows.tool_calls import read_json
    >>> read_json('{"a": 1}'), read_json("{'a': 1}"), read_json([1])
    ({'a': 1}, None, [1])
    """
    if not isinstance(text, str):
        return text
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
