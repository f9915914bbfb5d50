"""The factors of a LoRA written by hand are cast, and are no parameters any more.

``Parameter(values).to(bfloat16)`` is a tensor that was made of a parameter. Nobody
registers it: the optimizer gets the head alone, and the file has no factors.

Fix: cast the values first, ``Parameter(values.to(bfloat16))``.
Source: seed; torch `nn/modules/module.py`: ``__setattr__`` registers Parameters only.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, current, plain_case
from ftlab.faults.builders.own_layers import around_attention


class Factors(torch.nn.Module):
    """A frozen layer with a product in bfloat16 beside it."""

    def __init__(self, layer: Any, *, registered: bool) -> None:
        super().__init__()
        self.layer = layer
        rank, kind = current().rank, torch.bfloat16
        down = torch.randn(rank, layer.in_features) * 0.05
        up = torch.zeros(layer.out_features, rank)
        self.down: torch.Tensor
        self.up: torch.Tensor
        if registered:
            self.down = torch.nn.Parameter(down.to(kind))
            self.up = torch.nn.Parameter(up.to(kind))
        else:
            self.down = torch.nn.Parameter(down).to(kind)
            self.up = torch.nn.Parameter(up).to(kind)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Add the product to what the layer gives."""
        added = hidden.to(self.down.dtype) @ self.down.T @ self.up.T
        return self.layer(hidden) + added.to(hidden.dtype)


def build(fixed: bool) -> Case:
    """Train the factors and the head."""
    model = around_attention(lambda layer: Factors(layer, registered=fixed))
    head = model.verdict if hasattr(model, "verdict") else model.get_output_embeddings()
    head.requires_grad_(True)
    return plain_case(model, lr=1e-2)


FAULT = Fault(
    "the factors are not in the optimizer, and not in the file",
    code="MOD008",
    places=("param *.down", "param *.up"),
    steps=4,
    families=("llama", "neox", "own"),
)
