"""Which of the trained weights are in the files that somebody writes by himself.

What is in a file and is nobody's, and has as many elements as a weight that is missing,
may be that weight in other clothes: then nothing is missing.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch

from ftlab.probes.files.saving_content import (
    Named,
    is_altered,
    place_of,
    tensors_in,
    weights_in,
)
from ftlab.probes.naming import named_parameters, roles_of
from ftlab.probes.taps.optimizer import unwrapped
from ftlab.probes.torch_private import versions

SHOWN = 64
"""At most so many names are kept; how many there are is told besides."""


class WrittenFiles:
    """Keeps account of what was written since weights were first updated."""

    def __init__(self) -> None:
        self._names: dict[int, tuple[str, str]] = {}
        self._first: dict[int, int] | None = None
        self._known, self._moved = 0, set[int]()
        self._kept: set[int] = set()
        self._unknown: set[int] = set()
        self._others: set[str] = set()
        self._moments = self._done = False
        self._latest: dict[str, Any] = {}

    def weights_updated(
        self, model: torch.nn.Module, optimizers: Sequence[Any]
    ) -> None:
        """Begin a new account of moments; at first note how often weights changed.

        What a new optimizer has moved is noted too: it may be gone before the save.
        """
        self._moments, self._latest = False, {}
        if self._first is None:
            self._learn_names(model)
        if self._first is None or len(optimizers) != self._known:
            self._known, self._moved = len(optimizers), self._moved | _moved(optimizers)
            self._first = _writes(_held(optimizers)) | (self._first or {})

    def saved_by_model(self) -> None:
        """Be content from now on: a method that knows what belongs to it has saved."""
        self._done |= self._first is not None

    def latest(self) -> dict[str, Any]:
        """Return what was told of the last file that was written since the update."""
        return {} if self._done else self._latest

    def written(
        self,
        model: torch.nn.Module,
        optimizers: Sequence[Any],
        content: Any,
        *,
        taken: bool,
    ) -> dict[str, Any]:
        """Read what is written; ``taken``: of a state dict, since the last update.

        Returns
        -------
        dict
            ``has`` and ``of``: how many trained weights are in any file so far, of how
            many. ``left`` and ``left_count``: those that are in none. ``torn``: their
            adapters, where other parts of these are in a file. ``others``: adapters in
            a file of which nothing is trained. ``moments``: whether an optimizer's
            state was written since the last update. ``empty``: whether a file without
            anything was made of a state dict. ``whole``: how many weights the model
            has, if all of them are in this file. Nothing where it does not concern
            this model, or where that cannot be told.
        """
        tensors = tensors_in(content)
        empty = taken and isinstance(content, Mapping) and not content
        if self._done or self._first is None or not (tensors or empty):
            self._done |= self._first is not None and tensors is None
            return {}
        self._learn_names(model)
        trained = self._trained(optimizers)
        states = {place_of(each) for each in _states(optimizers)}
        mine, merged = self._take(model, trained, tensors or [], states)
        self._moments |= any(place_of(tensor) in states for _, tensor in tensors or ())
        self._done = merged
        if merged or not trained or not (mine or self._moments or empty):
            return {}
        live = [id(each) for each in model.parameters()]
        whole = len(live) if mine.issuperset(live) else 0
        self._latest = self._account(trained) | {"empty": empty, "whole": whole}
        return self._latest

    def _take(
        self,
        model: torch.nn.Module,
        trained: Mapping[int, torch.Tensor],
        tensors: Sequence[Named],
        states: set[int],
    ) -> tuple[set[int], bool]:
        """Account for the tensors; tell whether what was trained is in the base."""
        weights = {id(each): each for each in model.parameters()} | dict(trained)
        known = self._names  # not of what was made anew meanwhile
        named = {k: (known[k][0], each) for k, each in weights.items() if k in known}
        mine, unknown = weights_in(tensors, named, states)
        adapters = {self._names[key][1] for key in trained}
        self._kept |= mine
        self._unknown |= unknown
        self._others |= {self._names[key][1] for key in mine} - adapters - {""}
        frozen = {key: each for key, each in named.items() if key not in trained}
        return mine, is_altered(tensors, frozen)

    def _account(self, trained: Mapping[int, torch.Tensor]) -> dict[str, Any]:
        left = [key for key in trained if key not in self._kept]
        sizes = [trained[key].numel() for key in left]
        if any(n in sizes or n >= sum(sizes) for n in self._unknown):
            left = []
        kept = {self._names[key][1] for key in trained if key in self._kept}
        torn = {self._names[key][1] for key in left} & kept - {""}
        return {
            "has": sum(key in self._kept for key in trained),
            "of": len(trained),
            "left": [self._names[key][0] for key in left[:SHOWN]],
            "left_count": len(left),
            "torn": sorted(torn),
            "others": sorted(self._others),
            "moments": self._moments,
        }

    def _learn_names(self, model: torch.nn.Module) -> None:
        roles = roles_of(model)
        for each in named_parameters(model):
            key = id(each.parameter)
            # PEFT's attention makes its weights anew each time the modules are named.
            role = roles.get(key)
            self._names[key] = each.name, role.adapter if role else ""

    def _trained(self, optimizers: Sequence[Any]) -> dict[int, torch.Tensor]:
        """Return what optimizers have changed; nothing where not all of it is here."""
        moved = self._moved | _moved(optimizers)
        held, first = _held(optimizers), self._first or {}
        now = _writes(held)
        moved |= {key for key in now if first.get(key, now[key]) != now[key]}
        found = {id(each): each for each in held if id(each) in moved}
        here = all(
            type(each) is torch.nn.Parameter and each.numel() and key in self._names
            for key, each in found.items()
        )
        return found if here else {}


def _moved(optimizers: Sequence[Any]) -> set[int]:
    """Return the ``id`` of what has a state."""
    return {
        id(each)
        for optimizer in map(unwrapped, optimizers)
        for each, state in optimizer.state.items()
        if state
    }


def _held(optimizers: Sequence[Any]) -> list[torch.Tensor]:
    groups = (group for each in optimizers for group in unwrapped(each).param_groups)
    return [parameter for group in groups for parameter in group["params"]]


def _writes(tensors: Iterable[torch.Tensor]) -> dict[int, int]:
    """Count how often each tensor was written to."""
    return dict(each for each in versions(tensors) if each is not None)


def _states(optimizers: Sequence[Any]) -> Iterable[torch.Tensor]:
    for optimizer in map(unwrapped, optimizers):
        for state in optimizer.state.values():
            values = state.values() if isinstance(state, Mapping) else ()
            yield from (v for v in values if isinstance(v, torch.Tensor) and v.dim())
