"""Modules that are alike are one kind, and blocks in a row that are alike one line.

Eighty equal layers are one kind, which is described once and names its members. Lists
and dictionaries of modules are no lines of their own: ``layers.0…79``.
"""

import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from ftlab.records.model_anatomy import ModuleFacts

LISTS = frozenset({"ModuleList", "ModuleDict", "ParameterList", "ParameterDict"})

TOLD = 3
"""Differences that are written out."""


class Line(NamedTuple):
    """Modules of one kind within another, their names folded in ``label``.

    ``kind`` is the index of what each is, ``names`` are paths from the module that they
    are in, and ``odd`` says in what they differ from most of their neighbours.
    """

    label: str
    kind: int
    names: tuple[str, ...]
    odd: str = ""


class Kind(NamedTuple):
    """Modules that are alike; ``facts`` are the first one's."""

    facts: ModuleFacts
    lines: tuple[Line, ...]


def folded(modules: Sequence[ModuleFacts]) -> list[Kind]:
    """Return the kinds, what is within one before it: the model is the last."""
    kinds: list[Kind] = []
    known: dict[Hashable, int] = {}
    of: dict[int, int] = {}
    for at in reversed(range(len(modules))):
        facts = modules[at]
        children = tuple((name, of[index]) for name, index in facts.children)
        likeness = _alike(facts), children
        if likeness not in known:
            known[likeness] = len(kinds)
            kinds.append(Kind(facts, tuple(_lines(children, kinds))))
        of[at] = known[likeness]
        kinds[of[at]] = kinds[of[at]]._replace(facts=facts)  # the first one's
    return kinds


def _alike(facts: ModuleFacts) -> ModuleFacts:
    """Leave out what may differ in modules of one kind: where they stand."""
    ties, same = tuple(map(_pattern, facts.ties)), _pattern(facts.same_as)
    return replace(facts, path="", children=(), ties=ties, same_as=same)


def _pattern(name: str) -> str:
    return re.sub(r"\d+", "#", name)


def _lines(
    children: Sequence[tuple[str, int]], kinds: Sequence[Kind]
) -> Iterator[Line]:
    """Fold what is in a module; numbered neighbours of one kind are one line."""
    numbered: dict[int, list[str]] = {}
    for name, kind in children:
        if name.isdigit():
            numbered.setdefault(kind, []).append(name)
    odd = _odd(numbered, kinds)
    for name, kind in children:
        if not name.isdigit():
            yield from _named(name, kind, kinds)
        elif names := numbered.pop(kind, None):
            yield Line(_run(names), kind, tuple(names), odd.get(kind, ""))


def _named(name: str, kind: int, kinds: Sequence[Kind]) -> Iterator[Line]:
    """Yield a child, or what is in it where it is a list of others."""
    held = kinds[kind]
    if held.facts.kind not in LISTS or held.facts.hooks or held.facts.own:
        yield Line(name, kind, (name,))
        return
    for each in held.lines:
        names = tuple(f"{name}.{inner}" for inner in each.names)
        yield Line(f"{name}.{each.label}", each.kind, names, each.odd)


def _run(names: Sequence[str]) -> str:
    """Write numbers as ranges: ``0…31, 33…79``."""
    numbers = [int(each) for each in names]
    starts = [n for n in numbers if n - 1 not in numbers]
    ends = [n for n in numbers if n + 1 not in numbers]
    runs = [f"{a}" if a == b else f"{a}…{b}" for a, b in zip(starts, ends, strict=True)]
    return ", ".join(runs if len(runs) <= 6 else [*runs[:5], "…"])


def _odd(numbered: dict[int, list[str]], kinds: Sequence[Kind]) -> dict[int, str]:
    """Say of kinds that are few among equals in what they differ."""
    usual = max(numbered, key=lambda each: len(numbered[each]), default=0)
    same = [e for e in numbered if kinds[e].facts.kind == kinds[usual].facts.kind]
    found: dict[int, str] = {}
    if same and 2 * len(numbered[usual]) > sum(len(numbered[kind]) for kind in same):
        for kind in same:
            told = list(differences(kinds, usual, kind))
            more = f" and {len(told) - TOLD} more" if len(told) > TOLD else ""
            found[kind] = "; ".join(told[:TOLD]) + more
    return found


FIELDS = {"adapters": "adapter", "kind": "", "quantised": "few bits", "dtypes": ""}
FIELDS |= {"devices": "", "hooks": "hook", "checkpointed": "checkpointing"}
"""What makes a difference, and what is missing where there is nothing."""


def differences(
    kinds: Sequence[Kind], usual: int, other: int, path: str = ""
) -> Iterator[str]:
    """Say in what a kind differs from another, from outside to inside."""
    if usual == other:
        return
    one, two = kinds[usual].facts, kinds[other].facts
    where = f"{path}: " if path else ""
    told = [each for each in FIELDS if getattr(one, each) != getattr(two, each)]
    for field in told[:1]:
        values = (getattr(facts, field) for facts in (two, one))
        words = (e if isinstance(e, str) else ", ".join(e) for e in values)
        yield where + ", the others ".join(e or f"no {FIELDS[field]}" for e in words)
    learns = bool(one.trainable), bool(two.trainable)
    if not told and not one.children and learns[0] != learns[1]:
        yield f"{where}{'learns' if learns[1] else 'is frozen'}"
    if {"kind", "adapters"}.intersection(told):
        return
    theirs = {name: line.kind for line in kinds[other].lines for name in line.names}
    for line in kinds[usual].lines:
        for name in line.names:
            if name in theirs:
                inside = f"{path}.{name}" if path else name
                yield from differences(kinds, line.kind, theirs[name], inside)
