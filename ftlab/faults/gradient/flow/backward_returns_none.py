"""LoRA in a function with a backward of its own, which forgets one of the factors.

``backward`` must return one gradient for each input of ``forward``. Where it returns
``None`` in the place of one, as if that were a setting, nothing is raised: the first
factor stays as drawn, and the second one learns alone.

Fix: return the gradient of every input that ``ctx.needs_input_grad`` names.
Source: torch, "Extending PyTorch": `backward` returns as many gradients as there were
inputs, and `None` for those that need none.
"""

from typing import Any

import torch
from torch import nn

from ftlab.faults.builders import Case, Fault, current, plain_case
from ftlab.faults.builders.own_layers import around_attention


class Product(torch.autograd.Function):
    """The product of two factors, without keeping what is between them."""

    @staticmethod
    def forward(ctx: Any, hidden: Any, down: Any, up: Any, whole: bool) -> Any:
        """Multiply, and keep what backward needs."""
        ctx.save_for_backward(hidden, down, up)
        ctx.whole = whole
        return hidden @ down.T @ up.T

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """Return the gradients of the hidden states, and of one factor or both."""
        (gradient,) = gradients
        hidden, down, up = ctx.saved_tensors
        between = gradient @ up
        rows, inner = hidden.flatten(0, -2), between.flatten(0, -2)
        of_up = gradient.flatten(0, -2).T @ (rows @ down.T)
        of_down = inner.T @ rows if ctx.whole else None
        return between @ down, of_down, of_up, None


class Adapted(nn.Module):
    """A frozen layer with such a product beside it."""

    def __init__(self, layer: Any, whole: bool) -> None:
        super().__init__()
        self.layer = layer
        self.down = nn.Parameter(torch.randn(current().rank, layer.in_features) * 0.05)
        self.up = nn.Parameter(torch.zeros(layer.out_features, current().rank))
        self.whole = whole

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Add the product to what the layer gives."""
        added = Product.apply(hidden, self.down, self.up, self.whole)
        return self.layer(hidden) + 2.0 * added


def build(fixed: bool) -> Case:
    """Build LoRA by hand whose backward is whole, or forgets a factor."""
    model = around_attention(lambda layer: Adapted(layer, whole=fixed))
    return plain_case(model)


FAULT = Fault(
    "one factor of a LoRA by hand has no gradient, the other learns",
    code="GRD003",
    places=("module *",),
    steps=8,
    evident=1,
    families=("llama", "neox", "own"),
)
