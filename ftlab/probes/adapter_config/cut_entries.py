r"""Entries of a PEFT configuration that match by another way than they are written for.

PEFT compares a regular expression with whole names, and an entry of a list with their
ends, but a name in ``modules_to_save`` with their last letters. What is meant as a part
of a name, or as an expression, or as a whole name, is told from what it would find.
"""

import functools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from ftlab.probes.adapter.adapter_tree import (
    Layer,
    bounded,
    plain_modules,
    under_adapters,
    wanted_targets,
)
from ftlab.probes.adapter_config.unadapted import is_linear

_SIGNS = re.compile(r"[\\*+?\[\](){}|^$]")
"""What stands in expressions and in no name of a module."""

_DIGIT = re.compile(r"(?:\\d|\[0-9\])(?![+*?{])")
"""One digit, and no more."""

Found = dict[str, dict[str, Any]]


def cut_entries(
    config: Any, layers: Sequence[Layer], root: torch.nn.Module, prefix: str
) -> Found:
    r"""Find entries that reach less, or more, than what they name.

    Parameters
    ----------
    layers
        Those that hold the adapter.
    root, prefix
        The module whose names the configuration speaks of, and its path.

    Returns
    -------
    dict
        ``target_modules`` and ``exclude_modules``: entry -> layers that it finds as a
        part of their names while it matches none. ``digits``: expression -> layers
        that it would match if ``\d`` were ``\d+``. ``modules_to_save``: entry ->
        modules that only end with its letters, beside some that are called so.
    """
    modules = dict(plain_modules(root))
    adapted = {layer.name.removeprefix(f"{prefix}.") for layer in layers}
    bare = [
        name
        for name, module in modules.items()
        if name not in adapted
        and is_linear(under_adapters(module))
        and not _is_out(config, name)
    ]
    targets = wanted_targets(config)
    leaves = [name for name in modules if not _has_children(name, modules)]
    found: Found = {
        "target_modules": _cut(targets, list(modules), bare),
        "exclude_modules": _cut(
            getattr(config, "exclude_modules", None), leaves, sorted(adapted)
        ),
        "digits": _digits(targets, bare),
        "modules_to_save": _beyond(config, list(modules)),
    }
    return {field: entries for field, entries in found.items() if entries}


def alternatives(expression: str) -> list[str]:
    r"""Split an expression at the bars that stand in no group.

    Examples
    --------
    >>> from ftlab.probes.adapter_config.cut_entries import alternatives
    >>> alternatives(r".*\.(q|k)_proj|v_proj")
    ['.*\\.(q|k)_proj', 'v_proj']
    """
    parts, depth, start, index = [], 0, 0, 0
    while index < len(expression):
        sign = expression[index]
        if sign == "\\":
            index += 1
        elif sign in "([":
            depth += 1
        elif sign in ")]":
            depth -= 1
        elif sign == "|" and depth == 0:
            parts.append(expression[start:index])
            start = index + 1
        index += 1
    return [*parts, expression[start:]]


def _cut(value: Any, matched: Sequence[str], missed: Sequence[str]) -> dict[str, Any]:
    """Name, by entry, what has it in its name while it matches nothing."""
    found = {}
    for entry, matches in _entries(value):
        search = _compiled(entry)
        if search is None or any(matches(name) for name in matched):
            continue
        inside = [name for name in missed if search.search(name)]
        if entry and inside:
            found[entry] = bounded(inside)
    return found


def _entries(value: Any) -> Iterator[tuple[str, Callable[[str], object]]]:
    """Yield what can match by itself, with the way in which PEFT compares it."""
    if isinstance(value, str):
        for part in alternatives(value):
            compiled = _compiled(part)
            if compiled is not None:
                yield part, compiled.fullmatch
        return
    for entry in sorted(map(str, value or ())):
        if _SIGNS.search(entry):
            yield entry, functools.partial(_ends, entry)


def _ends(end: str, name: str) -> bool:
    return f".{name}".endswith(f".{end}")


def _digits(targets: Any, bare: Sequence[str]) -> dict[str, Any]:
    if not isinstance(targets, str) or not _DIGIT.search(targets):
        return {}
    longer = _compiled(_DIGIT.sub(r"\\d+", targets))
    more = [name for name in bare if longer and longer.fullmatch(name)]
    return {targets: bounded(more)} if more else {}


def _beyond(config: Any, modules: Sequence[str]) -> dict[str, Any]:
    found = {}
    wanted = getattr(config, "modules_to_save", None)
    for entry in sorted(map(str, wanted or ())):
        ending = [name for name in modules if name.endswith(entry)]
        more = [name for name in ending if not _ends(entry, name)]
        if more and len(more) < len(ending):
            found[entry] = bounded(more)
    return found


def _is_out(config: Any, name: str) -> bool:
    """Tell whether a module is excluded, or saved in whole."""
    wanted = getattr(config, "exclude_modules", None)
    if isinstance(wanted, str):
        compiled = _compiled(wanted)
        if compiled is not None and compiled.fullmatch(name):
            return True
    elif any(_ends(end, name) for end in wanted or ()):
        return True
    saved = getattr(config, "modules_to_save", None) or ()
    return any(f".{end}." in f".{name}." for end in saved)


def _compiled(expression: str) -> "re.Pattern[str] | None":
    try:
        return re.compile(expression)
    except re.error:
        return None


def _has_children(name: str, modules: dict[str, torch.nn.Module]) -> bool:
    return next(under_adapters(modules[name]).children(), None) is not None
