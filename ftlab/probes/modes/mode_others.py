"""Other models of the process that have a dropout on: one may be a teacher."""

import gc

import torch

from ftlab.probes.modes.mode_parts import DROPOUTS, parts_of
from ftlab.probes.taps.forward import innermost

MANY = 4
"""Models that are given at most."""


def other_models(model: torch.nn.Module) -> list[torch.nn.Module]:
    """Find models that hold a dropout that is on and share nothing with ``model``.

    Going through all objects takes some tenths of a second, so it is done where there
    is a dropout that is not the model's own.
    """
    own = {id(module) for module in innermost(model).modules()}
    weights = {id(each) for each in model.parameters()}
    kinds = _kinds(*DROPOUTS)
    drops = [e for e in gc.get_referrers(*kinds) if type(e) in kinds]
    if not any(each.training and each.p > 0 and id(each) not in own for each in drops):
        return []
    found = [e for e in gc.get_objects() if issubclass(type(e), torch.nn.Module)]
    within = {id(child) for each in found for child in each.children()}
    roots = [
        each
        for each in found
        if id(each) not in within and id(each) not in own and each.training
    ]
    return [each for each in roots if _is_apart(each, weights)][:MANY]


def _is_apart(root: torch.nn.Module, weights: set[int]) -> bool:
    held = [id(each) for each in root.parameters()]
    if not held or not weights.isdisjoint(held):
        return False
    return any(part.kind == "dropout" and part.on for part in parts_of(root))


def _kinds(*first: type) -> set[type]:
    kinds, found = set(first), list(first)
    while found:
        below: list[list[type]] = [type.__subclasses__(each) for each in found]
        found = [kind for kinds_below in below for kind in kinds_below]
        kinds.update(found)
    return kinds
