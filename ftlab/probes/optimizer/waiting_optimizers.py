"""Optimizers that exist and were not handed over: they wait for their turn.

A loop with two optimizers may step the second one much later. What it holds is not
forgotten, so it is looked for, among all objects, once for each set of parameters that
no known optimizer holds.
"""

import gc
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from ftlab.probes.naming import NamedParameter
from ftlab.probes.torch_private import kinds_made
from ftlab.records.by_id import ById


@dataclass(slots=True)
class _Search:
    """What was looked for with one model, and the optimizers that were found."""

    asked: set[frozenset[str]] = field(default_factory=set)
    found: ById[torch.optim.Optimizer, None] = field(default_factory=ById)


_searches: ById[torch.nn.Module, _Search] = ById()


def waiting(
    model: torch.nn.Module, missing: Sequence[NamedParameter], held: Collection[int]
) -> list[str]:
    """Name what an optimizer holds that shares nothing with those that are known.

    Parameters
    ----------
    missing
        Trainable parameters that no known optimizer holds.
    held
        Ids of the parameters that one holds. An optimizer of all parameters that was
        made in vain, and is not yet collected, holds some of them as well.
    """
    if not missing:
        return []
    search = _searches.setdefault(model, _Search())
    names = frozenset(entry.name for entry in missing)
    if names not in search.asked:
        search.asked.add(names)
        wanted = {id(entry.parameter) for entry in missing}
        for optimizer in _optimizers():
            if not wanted.isdisjoint(_ids(optimizer)):
                search.found[optimizer] = None
    apart: set[int] = set()
    for optimizer in search.found:
        ids = _ids(optimizer)
        if ids.isdisjoint(held):
            apart |= ids
    return [entry.name for entry in missing if id(entry.parameter) in apart]


def _optimizers() -> list[torch.optim.Optimizer]:
    # Each object refers to its class: asking for those is half of going through all.
    kinds = kinds_made()
    return [each for each in gc.get_referrers(*kinds) if type(each) in kinds]


def _ids(optimizer: Any) -> set[int]:
    groups = getattr(optimizer, "param_groups", ())
    return {id(parameter) for group in groups for parameter in group["params"]}
