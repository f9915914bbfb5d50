"""DoRA written by hand around the linear layers of a model."""

from typing import Any

import torch
from torch import nn

from ftlab.faults.tiny import attention, base, set_seed
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
    model = base()
    model.requires_grad_(False)
    wanted = set(attention(model))
    set_seed(1)
    for module in list(model.modules()):
        for name, layer in list(module.named_children()):
            if name in wanted and isinstance(layer, nn.Linear):
                fresh = nn.Linear(layer.in_features, layer.out_features)
                source = layer if of_the_weight else fresh
                lengths = row_norms(source.weight.detach()).clone()
                setattr(module, name, Directed(layer, lengths))
    return model
