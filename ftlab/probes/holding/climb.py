"""Tensors that no name of the user reaches: who holds them is asked from below.

Each step up asks the collector for all objects that refer to those below: that takes
longer than the walk from above, and is done for a few tensors only.
"""

import gc
import itertools
import types
from collections.abc import Mapping
from typing import Any

import torch

from ftlab.probes.holding.edges import kind_of, running_frames
from ftlab.probes.holding.labels import way_labels
from ftlab.probes.holding.walk import Walk, loaded_modules
from ftlab.records.holding import GARBAGE, OUTSIDE, Path

FAR = 24
"""Steps up from a tensor."""

WIDE = 256
"""Objects of one step whose holders are asked for."""


def unreached(walk: Walk) -> list[torch.Tensor]:
    """Return the tensors that the collector knows and a walk has not met."""
    known = gc.get_objects()
    kinds = {each for each in set(map(type, known)) if kind_of(each) == "tensor"}
    return [e for e in known if type(e) in kinds and not walk.has_met(e)]


def tensor_at(key: int) -> torch.Tensor | None:
    """Return the tensor of an ``id``, if it is still there."""
    found = next((each for each in gc.get_objects() if id(each) == key), None)
    return found if kind_of(type(found)) == "tensor" else None


def climbed(tensor: torch.Tensor) -> tuple[Path, tuple[Any, ...]]:
    """Return the path from a module to a tensor, and the objects on the way.

    A generator that no name reaches counts as a module. Where there is no path, the
    first label is `GARBAGE` for what only holds itself, and `OUTSIDE` for what is held
    by something that Python's collector does not know; the second one names the types
    on the way.
    """
    below: dict[int, Any] = {}
    met: dict[int, Any] = {id(tensor): tensor}
    roots = {id(vars(each)): each for each in loaded_modules()}
    running = {id(frame) for frame in running_frames()}
    frontier: list[Any] = [tensor]
    cycle = False
    for _ in range(FAR):
        own = {id(below), id(met), id(frontier), id(roots), *running}
        owners = [e for e in gc.get_referrers(*frontier) if id(e) not in own]
        wanted = {id(each): each for each in frontier}
        found: list[Any] = []
        for owner in owners:
            child = _child(owner, wanted)
            if child is None:
                continue
            if id(owner) in met:
                cycle = True
                continue
            met[id(owner)] = owner
            below[id(owner)] = child
            if id(owner) in roots:
                way = _way(owner, below)
                return way_labels((roots[id(owner)], *way[1:])), way
            found.append(owner)
        if not found:
            break
        frontier = found[:WIDE]
        for each in (found, owners, wanted):
            each.clear()  # else they are among the next owners
    return _without_module(_way(frontier[0], below), cycle=cycle)


def _without_module(
    way: tuple[Any, ...], *, cycle: bool
) -> tuple[Path, tuple[Any, ...]]:
    generators = [at for at, e in enumerate(way) if type(e) is types.GeneratorType]
    if generators and not cycle:
        way = way[generators[-1] :]
        return way_labels(way), way
    names = [type(e).__qualname__ for e in way[:-1] if type(e) not in _PARTS]
    words = " > ".join(name for name, _ in itertools.groupby(names))
    return (GARBAGE if cycle else OUTSIDE, words), way


def _child(owner: Any, wanted: Mapping[int, Any]) -> Any:
    """Return which of the objects below an owner refers to; not every one does."""
    for each in gc.get_referents(owner):
        if id(each) in wanted and each is not owner:
            return each
    return wanted.get(id(owner))


def _way(top: Any, below: Mapping[int, Any]) -> tuple[Any, ...]:
    way = [top]
    while id(way[-1]) in below:
        way.append(below[id(way[-1])])
    return tuple(way)


_PARTS = (dict, list, tuple, types.CellType, types.MethodType)
