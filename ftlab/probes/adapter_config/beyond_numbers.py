r"""Expressions that are written for one block and find others whose number is longer.

The dot of ``layers.1.*`` is any sign and ``.*`` any rest: the key finds ``layers.10``
and ``layers.11`` too. Each expression is tried again with its numbers ended.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ftlab.probes.adapter.adapter_tree import Layer, bounded

_NUMBER = re.compile(r"(?<![\\\d{,\[-])\d+(?!\d|[?*+{}\]\[-]|\\d)")
"""A number that is written out: no quantifier, no class, no digit asked for next."""


def beyond_numbers(
    config: Any, layers: Sequence[Layer], prefix: str
) -> dict[str, dict[str, Any]]:
    """Find adapted layers that an expression reaches by the beginning of their number.

    Returns
    -------
    dict
        ``target_modules``, ``rank_pattern``, ``alpha_pattern``: entry -> layers that it
        finds beside those of the number that it names.
    """
    names = {
        layer.name.removeprefix(f"{prefix}.") if prefix else layer.name: layer.name
        for layer in layers
    }
    found: dict[str, dict[str, Any]] = {}
    for field, entry, form in _expressions(config):
        more = reached_by_number(entry, list(names), form)
        if more:
            found.setdefault(field, {})[entry] = bounded([names[name] for name in more])
    return found


def reached_by_number(
    entry: str, names: Sequence[str], form: Callable[[str], str] = str
) -> list[str]:
    r"""Name what is found only because a number is the beginning of another one.

    Examples
    --------
    >>> from ftlab.probes.adapter_config.beyond_numbers import reached_by_number
    >>> reached_by_number("layers.1.*", ["layers.1.a", "layers.10.a", "layers.2.a"])
    ['layers.10.a']
    >>> reached_by_number(r"layers\.1\..*", ["layers.1.a", "layers.10.a"])
    []
    """
    ended = _NUMBER.sub(lambda number: number[0] + r"(?!\d)", entry)
    if ended == entry:
        return []
    try:
        as_written, meant = re.compile(form(entry)), re.compile(form(ended))
    except re.error:
        return []
    matched = [name for name in names if as_written.fullmatch(name)]
    more = [name for name in matched if not meant.fullmatch(name)]
    # Who writes "1." for 10 to 19 finds nothing by the number alone.
    return more if len(more) < len(matched) else []


def _expressions(config: Any) -> Iterator[tuple[str, str, Callable[[str], str]]]:
    targets = getattr(config, "target_modules", None)
    if isinstance(targets, str):
        yield "target_modules", targets, str
    for field in ("rank_pattern", "alpha_pattern"):
        patterns = getattr(config, field, None)
        for key in patterns if isinstance(patterns, Mapping) else ():
            yield field, str(key), _as_key


def _as_key(key: str) -> str:
    """Write a key as `peft.utils.other.get_pattern_key` compares it."""
    return rf"(.*\.)?({key})"
