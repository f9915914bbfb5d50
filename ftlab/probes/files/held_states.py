"""State dicts that somebody keeps while the weights go on changing.

``state_dict()`` copies nothing. What is kept of it after an update are the weights as
they are then, and that is what a file gets which it is written to. Which tensor came
from which state dict is known from the moment that it was taken; none is kept alive.
"""

import weakref
from collections.abc import Iterable
from typing import Any

import torch

from ftlab.probes.files.saving_content import tensors_in

TARGET = "held state"
"""Target of the entry about a state that was written later than it was taken."""

_Taken = tuple[weakref.ref[torch.Tensor], int]


class HeldStates:
    """Knows the tensors of state dicts that were taken before the last update."""

    def __init__(self) -> None:
        self._updates = 0
        self._now: list[weakref.ref[torch.Tensor]] = []
        self._old: list[_Taken] = []

    def taken(self, values: Iterable[torch.Tensor]) -> None:
        """Remember a state dict; one of before the first update is no best one.

        Who takes it once, in advance, means the weights as they will be.
        """
        if self._updates:
            self._now += [weakref.ref(value) for value in values]

    def weights_updated(self) -> None:
        """Call what is still there of what was taken before old."""
        if self._now:
            now = [(each, self._updates) for each in self._now]
            self._old = [each for each in self._old + now if each[0]() is not None]
            self._now = []
        self._updates += 1

    def written(self, model: torch.nn.Module, content: Any) -> dict[str, Any]:
        """Look for old tensors among what is written.

        Returns
        -------
        dict
            ``stale``: how many of them lie in the memory of trainable weights.
            ``updates``: how many updates came after the first of them was taken.
            Nothing where there is none.
        """
        known = {id(t): n for each, n in self._old if (t := each()) is not None}
        if not known:
            return {}
        places = {p.data_ptr() for p in model.parameters() if p.requires_grad}
        ages = [
            self._updates - known[id(tensor)]
            for _, tensor in tensors_in(content) or ()
            if id(tensor) in known and tensor.numel() and tensor.data_ptr() in places
        ]
        return {"stale": len(ages), "updates": max(ages)} if ages else {}
