"""Settings in which two runs differ, as their facts tell them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ftlab.runlog.run import Run

_GROUP = ("lr", "weight_decay", "betas", "eps", "momentum", "amsgrad", "nesterov")
_MODEL = ("class", "dtype")
_PLACES = frozenset({"dir", "name", "path", "version", "to"})
"""Last words of settings that say where something is, and nothing of the numbers."""

_REPORTS = frozenset({"logging", "save", "eval", "log", "disable", "hub", "push"})
"""First words of settings that say when something is told or kept."""


def other_settings(left: Run, right: Run) -> list[str]:
    """Name the settings that differ, each with both of its values.

    Settings of optimizers, schedules, adapters, of the model's precision, and the
    arguments of a Trainer; seeds and places of files are left out.

    Examples
    --------
    >>> from ftlab.records.facts import Facts
    >>> from ftlab.runlog.run import Run
    >>> from ftlab.runlog.setting_differences import other_settings
    >>> runs = []
    >>> for rate in (0.1, 0.2):
    ...     runs.append(Run())
    ...     group = {"lr": 1e-3, "weight_decay": rate}
    ...     runs[-1].append(Facts(optimizers=({"class": "AdamW", "groups": [group]},)))
    >>> other_settings(*runs)
    ['weight_decay 0.1, and 0.2']
    """
    one, other = settings_of(left), settings_of(right)
    found = []
    for path in dict.fromkeys([*one, *other]):
        if path in one and path in other and one[path] != other[path]:
            found.append(f"{path[-1]} {one[path]}, and {other[path]}")
    return list(dict.fromkeys(found))


def settings_of(run: Run) -> dict[tuple[str, ...], Any]:
    """Return what a run was set to, as far as it says something of its numbers."""
    facts = next(iter(run.facts_history), None)
    if facts is None:
        return {}
    asked = facts.training.get("args", {})
    drawn = facts.training.get("randomness", {}).get("dropout")
    told = {
        "optimizers": [_optimizer(each) for each in facts.optimizers],
        "schedules": [each.get("asked", {}) for each in facts.schedulers],
        "model": {name: facts.model.get(name) for name in _MODEL},
        "adapters": facts.model.get("peft", {}),
        "model's": {} if drawn is None else {"dropout": drawn or "none"},
        "args": {n: value for n, value in asked.items() if "seed" not in n},
    }
    return {path: value for path, value in _flat(told, ()) if _counts(path[-1])}


def _optimizer(read: Mapping[str, Any]) -> dict[str, Any]:
    groups = [
        {name: group[name] for name in _GROUP if name in group}
        for group in read.get("groups", ())
    ]
    return {"optimizer": read.get("class"), "groups": groups}


def _counts(name: str) -> bool:
    words = name.split("_")
    return words[-1] not in _PLACES and words[0] not in _REPORTS


def _flat(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield what mappings and lists of mappings hold, by its path."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _flat(inner, (*path, str(name)))
    elif isinstance(value, list | tuple) and any(isinstance(v, Mapping) for v in value):
        for at, inner in enumerate(value):
            yield from _flat(inner, (*path, str(at)))
    elif path:
        yield path, list(value) if isinstance(value, tuple) else value
