"""A LoRA of one's own puts the sum into ``weight`` as a new ``Parameter``.

``self.layer.weight = nn.Parameter(base + B @ A)`` copies the values and begins a new
graph: the new parameter gets the gradient, and A and B get none.

Fix: ``F.linear(x, base + B @ A)``, or ``torch.nn.utils.parametrize``.
Source: pytorch, "Parametrizations tutorial" (why a weight is not simply set); seen in
hand-written layers.
"""

from typing import Any

import torch
from torch import nn

from ftlab.faults.builders import Case, Fault, base, current, plain_case, set_seed
from ftlab.faults.builders.blocks import blocks


class Behind(nn.Module):
    """A block with a square layer behind it whose weight is computed."""

    start: torch.Tensor

    def __init__(self, block: nn.Module, anew: bool) -> None:
        super().__init__()
        width = current().width
        self.block = block
        self.layer = nn.Linear(width, width)
        self.layer.requires_grad_(False)
        self.register_buffer("start", 0.1 * self.layer.weight.detach().clone())
        self.factor_a = nn.Parameter(0.05 * torch.randn(4, width))
        self.factor_b = nn.Parameter(torch.zeros(width, 4))
        self.anew = anew

    def forward(self, *inputs: Any, **settings: Any) -> Any:
        """Run the block, then the layer with the weight of this moment."""
        output = self.block(*inputs, **settings)
        hidden = output[0] if isinstance(output, tuple) else output
        weight = self.start + self.factor_b @ self.factor_a
        if self.anew:
            self.layer.weight = nn.Parameter(weight)
            hidden = hidden + self.layer(hidden)
        else:
            hidden = hidden + nn.functional.linear(hidden, weight, self.layer.bias)
        return (hidden, *output[1:]) if isinstance(output, tuple) else hidden


def build(fixed: bool) -> Case:
    """Build a model whose last block is trained too."""
    model = base()
    model.requires_grad_(False)
    tower = blocks(model)
    set_seed(3)
    tower[-1].requires_grad_(True)
    for index, block in enumerate(list(tower)):
        tower[index] = Behind(block, anew=not fixed)
    return plain_case(model)


FAULT = Fault(
    "the factors of a hand-written LoRA keep their first values",
    code="GRD003",
    places=("module *.?",),
    steps=8,
    evident=1,
    families=("llama", "gpt2", "neox", "own"),
)
