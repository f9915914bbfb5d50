"""LoRA and DoRA written by hand around the linear layers of a model."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from ftlab.faults.builders.tiny import attention, base, set_seed
from ftlab.faults.variation import current


class Directed(nn.Module):
    """A frozen layer whose rows have trained lengths, and a product beside it."""

    def __init__(self, layer: Any, lengths: torch.Tensor) -> None:
        super().__init__()
        self.layer = layer
        rank = current().rank
        self.down = nn.Parameter(torch.randn(rank, layer.in_features) * 0.05)
        self.up = nn.Parameter(torch.zeros(layer.out_features, rank))
        self.lengths = nn.Parameter(lengths)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Apply the weight, its rows brought to the trained lengths."""
        weight = self.layer.weight + self.up @ self.down
        scale = self.lengths / row_norms(weight).detach()
        weight = scale[:, None] * weight
        return nn.functional.linear(hidden, weight, self.layer.bias)


def row_norms(weight: torch.Tensor) -> torch.Tensor:
    """Return the length of each row."""
    return torch.linalg.vector_norm(weight, dim=1)


def with_directions(*, of_the_weight: bool) -> Any:
    """Build a frozen model of the variation's family with DoRA on its attention.

    Parameters
    ----------
    of_the_weight
        Whether the lengths are those of the frozen weight, or of one drawn anew.
    """

    def around(layer: Any) -> nn.Module:
        fresh = nn.Linear(layer.in_features, layer.out_features)
        source = layer if of_the_weight else fresh
        return Directed(layer, row_norms(source.weight.detach()).clone())

    return around_attention(around)


def with_products(*, zeros: bool) -> Any:
    """Build a frozen model of the variation's family with LoRA on its attention.

    Parameters
    ----------
    zeros
        Whether the second factor is 0, or as nn.Linear draws it.
    """
    return around_attention(lambda layer: Beside(layer, zeros=zeros))


def around_attention(around: Callable[[Any], nn.Module]) -> Any:
    """Build a frozen model of the family, its attention's layers put into others."""
    model = base()
    model.requires_grad_(False)
    wanted = set(attention(model))
    set_seed(1)
    for module in list(model.modules()):
        for name, layer in list(module.named_children()):
            if name in wanted and isinstance(layer, nn.Linear):
                setattr(module, name, around(layer))
    return model


class Beside(nn.Module):
    """A frozen layer with a product of two linear layers beside it."""

    def __init__(self, layer: Any, *, zeros: bool) -> None:
        super().__init__()
        self.layer = layer
        rank = current().rank
        self.narrow = nn.Linear(layer.in_features, rank, bias=False)
        self.widen = nn.Linear(rank, layer.out_features, bias=False)
        if zeros:
            nn.init.zeros_(self.widen.weight)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Add the product to what the layer gives."""
        return self.layer(hidden) + self.widen(self.narrow(hidden))
