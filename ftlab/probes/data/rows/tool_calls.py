"""Calls of tools that nobody can carry out, and results that answer none."""

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ftlab.probes.data.across.python_literals import is_python
from ftlab.probes.data.rows.parts import RowFault
from ftlab.probes.data.rows.roles import ROLES
from ftlab.probes.data.rows.tool_schemas import (
    is_refused,
    null_argument,
    read,
    unfit,
)

Call = tuple[int, str, Any]
"""Number of the message, name of the tool, and arguments."""


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
    messages = [each for each in talk if isinstance(each, dict)]
    if not [1 for each in messages if "tool_calls" in each]:
        if [1 for each in messages if "from" in each]:
            yield from _said(row, column, talk)
        return
    called: list[Call] = []
    ids: set[str] = set()
    for at, message in enumerate(talk):
        for call in _calls(message):
            called.append((at, *_name_and_arguments(call)))
            ids.add(str(call.get("id") or ""))
        told = message.get("tool_call_id") if isinstance(message, Mapping) else None
        if told and ids - {""} and str(told) not in ids:
            says = f"{str(told)[:40]!r} is no id of a call before it"
            yield "result-of-no-call", f"{column}[{at}].tool_call_id", says
            break
    yield from _judged(row, f"{column}[{{}}].tool_calls", called, talk)


def _said(
    row: Mapping[str, Any], column: str, talk: Sequence[Any]
) -> Iterator[RowFault]:
    """Judge calls that are messages of their own, with JSON for a text."""
    called: list[Call] = []
    for at, message in enumerate(talk):
        role = message.get("from") if isinstance(message, dict) else None
        text = message.get("value") if ROLES.get(str(role)) == "c" else None
        if not isinstance(text, str) or not text.lstrip().startswith("{"):
            continue
        call = read(text)
        if isinstance(call, Mapping):
            called.append((at, *_name_and_arguments(call)))
        else:
            called.append((at, "", text))
    yield from _judged(row, f"{column}[{{}}].value", called, talk)


def _calls(message: Any) -> list[Mapping[str, Any]]:
    held = message.get("tool_calls") if isinstance(message, dict) else None
    if not held or not isinstance(held, list | tuple):
        return []
    return [each for each in held if isinstance(each, Mapping)]


def _name_and_arguments(call: Mapping[str, Any]) -> tuple[str, Any]:
    inner = call.get("function")
    inner = inner if isinstance(inner, Mapping) else call
    return str(inner.get("name") or ""), inner.get("arguments")


def _judged(
    row: Mapping[str, Any], where: str, called: Sequence[Call], talk: Sequence[Any]
) -> Iterator[RowFault]:
    for at, _, arguments in called:
        if says := _broken(arguments):
            python = is_python(arguments)
            name = "arguments-of-python" if python else "arguments-broken"
            yield name, where.format(at), f"{arguments[:60]!r}" if python else says
            break
    tools = _tools(row.get("tools")) if called else {}
    known = frozenset(tools) if all(tools) else frozenset()
    for at, name, _ in called:
        if known and name and not {name, name.rpartition(".")[2]} & known:
            yield "unknown-tool", where.format(at), _unknown(name, known)
            break
    nulls = ((at, null_argument(name, given, tools)) for at, name, given in called)
    yield from [("arguments-null", where.format(at), s) for at, s in nulls if s][:1]
    for at, name, arguments in called if known else ():
        says = unfit(name, arguments, tools)
        if says and not is_refused(talk, at):
            yield "arguments-unfit", where.format(at), says
            break


def _broken(arguments: Any) -> str:
    """Say why arguments cannot be read; a text that begins as none is no JSON."""
    if not isinstance(arguments, str) or not arguments.lstrip().startswith("{"):
        return ""
    try:
        json.loads(arguments, strict=False)
    except ValueError as error:
        return f"{arguments[-30:]!r} is no JSON: {error}"
    return ""


def _unknown(name: str, known: frozenset[str]) -> str:
    near = difflib.get_close_matches(name, known, 1, 0.6)
    held = f"near {near[0]!r}" if near else f"of {len(known)}"
    return f"calls {name[:40]!r}, which is none of the row's tools ({held})"


def tool_names(tools: Any) -> frozenset[str]:
    """Return the names of tools, given as a list or as JSON; none where one has none.

    Examples
    --------
    >>> from ftlab.probes.data.rows.tool_calls import tool_names
    >>> tool_names('[{"type": "function", "function": {"name": "look"}}]')
    frozenset({'look'})
    """
    held = _tools(tools)
    return frozenset(held) if all(held) else frozenset()


def _tools(tools: Any) -> dict[str, Any]:
    """Return what each tool takes, by name; ``""`` is the name of one without."""
    tools = read(tools)
    if not isinstance(tools, list | tuple):
        return {}
    known = {}
    for each in map(read, tools):
        inner = each.get("function") if isinstance(each, Mapping) else None
        inner = inner if isinstance(inner, Mapping) else each
        if not isinstance(inner, Mapping):
            return {}
        takes = inner.get("parameters", inner.get("input_schema"))
        known[str(inner.get("name") or "")] = read(takes)
    return known
