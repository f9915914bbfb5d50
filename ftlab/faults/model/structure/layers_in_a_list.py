"""New layers never learn: they stand in a plain list.

Each block gets two small layers, kept in a Python list. They run and have gradients;
``model.parameters()`` does not yield them, and the optimizer never gets them.

Fix: ``torch.nn.ModuleList`` in the place of the list.
Source: documentation of ``torch.nn.ModuleList`` (what it holds is registered).
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, base, current, plain_case
from ftlab.faults.builders.blocks import blocks


class Beside(torch.nn.Module):
    """A block with two small layers beside it."""

    def __init__(self, block: torch.nn.Module, *, registered: bool) -> None:
        super().__init__()
        self.block = block
        width = current().width
        down, up = torch.nn.Linear(width, 4), torch.nn.Linear(4, width)
        layers = [down, up]
        self.beside: Any = torch.nn.ModuleList(layers) if registered else layers

    def forward(self, hidden: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        """Add what the two layers make of the input."""
        down, up = self.beside
        output = self.block(hidden, *args, **kwargs)
        more = up(torch.relu(down(hidden)))
        if isinstance(output, tuple):
            return (output[0] + more, *output[1:])
        return output + more


def build(fixed: bool) -> Case:
    """Put layers beside each block, registered or not."""
    model = base()
    held = blocks(model)
    for number, block in enumerate(held):
        held[number] = Beside(block, registered=fixed)
    return plain_case(model)


FAULT = Fault(
    "layers that a block keeps in a list are never trained",
    code="MOD008",
    places=("param *.0.beside?0?.*",),
    families=("llama", "neox", "own"),
)
