"""The model of one's own with several feed-forward parts in each floor."""

from typing import Any

import torch
from torch import nn

from ftlab.faults.builders.tiny import own
from ftlab.faults.variation import current

WAYS = 3
"""Feed-forward parts of a floor."""


class Ways(nn.Module):
    """Several feed-forward parts, weighed by a gate for each token."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.gate = nn.Linear(width, WAYS)
        self.paths = nn.ModuleList(Way(width) for _ in range(WAYS))

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Add up what the ways say, each by its weight."""
        shares = self.gate(hidden).softmax(-1).unbind(-1)
        said = [path(hidden) for path in self.paths]
        return sum(
            (s[..., None] * each for s, each in zip(shares, said, strict=True)),
            torch.zeros_like(hidden),
        )


class Way(nn.Module):
    """One feed-forward part."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.wide = nn.Linear(width, 2 * width)
        self.narrow = nn.Linear(2 * width, width)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Think about each token."""
        return self.narrow(nn.functional.silu(self.wide(hidden)))


def own_with_ways() -> Any:
    """Build the model of one's own, its blocks at its root, with ways in each."""
    model = own()
    for floor in model.tower:
        floor.squeeze = Ways(current().width)
        floor.grow = nn.Identity()
    return model
