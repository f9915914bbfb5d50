"""How far the running means of batch norms have moved that stand in frozen parts.

A norm counts where nothing learns in it and in the module around it, which has weights
of its own besides. Where the model has adapters, what they stand on is theirs to tell.
"""

from collections.abc import Sequence
from typing import Any
from weakref import ReferenceType

import torch

from ftlab.probes.adapter.adapter_tree import holders
from ftlab.probes.naming import clean_name

EARLY = 8
"""First steps, at each of which frozen statistics are looked at."""

Norms = Sequence[tuple[str, "ReferenceType[torch.nn.Module]"]]


class FrozenStatistics:
    """Keeps the running means of norms in frozen parts as they were at first.

    Attributes
    ----------
    norms
        The part that each of them stands in, by the norm's path.
    """

    def __init__(self) -> None:
        self.norms: dict[str, str] = {}
        self._first: dict[str, tuple[torch.Tensor, torch.Tensor]] = {}

    def look(self, model: torch.nn.Module, norms: Norms) -> None:
        """Find the norms in frozen parts, and copy the statistics of new ones."""
        self.norms = {}
        if holders(model) or not any(p.requires_grad for p in model.parameters()):
            return
        modules = {clean_name(path): module for path, module in model.named_modules()}
        for path, reference in norms:
            around, norm = path.rpartition(".")[0], reference()
            if norm is not None and _is_frozen(modules.get(around), norm):
                self.norms[path] = around
        self._first = {
            path: self._first.get(path) or _copied(modules[path]) for path in self.norms
        }

    def part_of(self, norm: str) -> dict[str, str]:
        """Return the frozen part that a norm stands in, as what a row has to say."""
        return {"frozen": self.norms[norm]} if norm in self.norms else {}

    def shifts(self, norms: Norms) -> torch.Tensor:
        """Return how far each running mean has moved, in its first deviations."""
        shifts = [self._shift(path, reference()) for path, reference in norms]
        device = shifts[0].device if shifts else None
        return torch.stack([shift.to(device) for shift in shifts])

    def _shift(self, path: str, norm: Any) -> torch.Tensor:
        if path not in self._first or norm is None:
            return torch.zeros(())
        mean, deviation = self._first[path]
        moved = (norm.running_mean.detach().float() - mean).abs() / deviation
        return moved.mean()


def _is_frozen(around: torch.nn.Module | None, norm: Any) -> bool:
    if around is None or norm.running_mean is None:
        return False
    own = {id(each) for each in norm.parameters()}
    rest = [each for each in around.parameters() if id(each) not in own]
    return bool(rest) and not any(each.requires_grad for each in around.parameters())


def _copied(norm: Any) -> tuple[torch.Tensor, torch.Tensor]:
    deviation = (norm.running_var.detach().float() + norm.eps).sqrt()
    return norm.running_mean.detach().float().clone(), deviation
