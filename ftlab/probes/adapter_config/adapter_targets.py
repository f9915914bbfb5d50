"""What a PEFT configuration asked for by name, and how much of the model each name is.

PEFT is loud when *nothing* matches. A name of a list that matches nothing, an index of
a layer that does not exist, or a pattern for a module that has no adapter pass in
silence; so each entry is counted here, in the way in which PEFT matches it.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ftlab.probes.adapter.adapter_tree import Layer, bounded, wanted_targets

Counts = dict[str, int]

_INDEX = re.compile(r".*?\.[^.]*\.(?P<index>\d+)\.")


def asked(
    config: Any, modules: Sequence[str], layers: Sequence[Layer], prefix: str
) -> dict[str, Counts]:
    """Count what each entry of a configuration matched.

    Parameters
    ----------
    config
        PEFT's configuration of one adapter.
    modules
        Names of all modules, as they were before PEFT came, below the model that the
        configuration speaks of.
    layers
        The layers that hold the adapter.
    prefix
        Path of that model in the watched one.

    Returns
    -------
    dict
        Field of the configuration -> entry -> modules that it matched; fields that
        asked for nothing are left out. For ``exclude_modules`` an entry's number is
        that of modules it kept from being adapted.
    """
    keys = [_below(layer.name, prefix) for layer in layers]
    known = _Names(modules)
    found = {
        "target_modules": known.counts(_entries(config, "target_modules")),
        "exclude_modules": known.counts(_entries(config, "exclude_modules")),
        "modules_to_save": {
            entry: sum(name.endswith(entry) for name in modules)
            for entry in _entries(config, "modules_to_save")
        },
        "target_parameters": {
            entry: sum(
                _ends(f"{key}.{layer.parameter}", entry)
                for key, layer in zip(keys, layers, strict=True)
                if layer.parameter
            )
            for entry in _entries(config, "target_parameters")
        },
        "feedforward_modules": _feed_forward(config, keys),
        "layers_to_transform": _indices(config, keys),
        "rank_pattern": _patterns(config, "rank_pattern", keys, layers),
        "alpha_pattern": _patterns(config, "alpha_pattern", keys, layers),
    }
    return {field: counts for field, counts in found.items() if counts}


def leftovers(
    config: Any, adapter: str, layers: Iterable[Layer], prefix: str
) -> dict[str, Any]:
    """Name layers that hold the adapter although the configuration does not ask it.

    A part of a layer that is adapted as a whole belongs to it, as an attention's
    ``out_proj`` does.
    """
    from peft.tuners.tuners_utils import check_target_module_exists

    left = []
    holding = [layer for layer in layers if adapter in layer.adapters]
    wholes = [f"{layer.name}.base_layer." for layer in holding]
    for layer in holding:
        parts = [layer.name.removeprefix(w) for w in wholes if layer.name.startswith(w)]
        if any(not part.startswith("base_layer") for part in parts):
            continue
        key = _below(layer.name, prefix)
        if layer.parameter:
            whole = f"{key}.{layer.parameter}"
            wanted = _entries(config, "target_parameters")
            targeted = any(_ends(whole, entry) for entry in wanted)
        else:
            targeted = bool(check_target_module_exists(config, key))
        if not targeted:
            left.append(layer.name)
    return bounded(left)


def unheeded_exclusions(
    config: Any, layers: Sequence[Layer], prefix: str
) -> dict[str, Any]:
    """Name adapted layers that stand inside a module that was asked to be excluded."""
    wanted = _entries(config, "exclude_modules")
    if isinstance(getattr(config, "exclude_modules", None), str):
        return {}
    found = {}
    for entry in wanted:
        inside = [
            layer.name
            for layer in layers
            if f".{entry}." in f".{_below(layer.name, prefix)}"
        ]
        if inside:
            found[entry] = bounded(inside)
    return found


class _Names:
    """Names of modules by their last component: most entries are one component."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._by_end: dict[str, list[str]] = defaultdict(list)
        for name in names:
            self._by_end[name.rpartition(".")[2]].append(name)

    def counts(self, entries: Sequence[str] | str) -> Counts:
        if isinstance(entries, str):
            return {entries: sum(_fullmatch(entries, name) for name in self._names)}
        return {
            entry: sum(
                _ends(name, entry)
                for name in self._by_end.get(entry.rpartition(".")[2], ())
            )
            for entry in entries
        }


def _entries(config: Any, field: str) -> Any:
    """Return a field's names in order; a regular expression stays text."""
    value = (
        wanted_targets(config)
        if field == "target_modules"
        else getattr(config, field, None)
    )
    if isinstance(value, str):
        return value if value else ()
    return sorted(map(str, value)) if value else ()


def _indices(config: Any, keys: Sequence[str]) -> Counts:
    asked_for = getattr(config, "layers_to_transform", None)
    if asked_for is None:
        return {}
    wanted = [asked_for] if isinstance(asked_for, int) else list(asked_for)
    found = [match["index"] for key in keys if (match := _INDEX.match(f".{key}."))]
    return {str(index): found.count(str(index)) for index in wanted}


def _feed_forward(config: Any, keys: Sequence[str]) -> Counts:
    """Count the adapted layers that IA3 scales at their input, by entry."""
    entries = _entries(config, "feedforward_modules")
    if isinstance(entries, str):
        return {entries: sum(_fullmatch(entries, key) for key in keys)}
    return {entry: sum(key.endswith(entry) for key in keys) for entry in entries}


def _patterns(
    config: Any, field: str, keys: Sequence[str], layers: Sequence[Layer]
) -> Counts:
    patterns = getattr(config, field, None)
    if not isinstance(patterns, Mapping):
        return {}
    names = [
        f"{key}.{layer.parameter}" if layer.parameter else key
        for key, layer in zip(keys, layers, strict=True)
    ]
    # As `peft.utils.other.get_pattern_key` does: the key must match up to the end.
    return {
        str(key): sum(_matches(rf"(.*\.)?({key})$", name) for name in names)
        for key in patterns
    }


def _matches(pattern: str, name: str) -> bool:
    try:
        return re.match(pattern, name) is not None
    except re.error:
        return False


def _fullmatch(pattern: str, name: str) -> bool:
    try:
        return re.fullmatch(pattern, name) is not None
    except re.error:
        return False


def _ends(name: str, entry: str) -> bool:
    return name == entry or name.endswith(f".{entry}")


def _below(name: str, prefix: str) -> str:
    return name.removeprefix(f"{prefix}.") if prefix else name
