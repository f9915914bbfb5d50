"""A hand-written adapter is called in each block, and its output is thrown away.

``self.adapter(hidden)`` where ``hidden = hidden + self.adapter(hidden)`` was meant. The
module runs, costs its time and gets no gradient; the head goes on learning.

Fix: add the output to what the block hands on.
Source: seed; measured.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, current, plain_case, set_seed
from ftlab.faults.builders.blocks import blocks, deep_base


class Beside(torch.nn.Module):
    """A block with a small layer beside it."""

    def __init__(self, block: torch.nn.Module, used: bool) -> None:
        super().__init__()
        self.block = block
        self.bottleneck = torch.nn.Sequential(
            torch.nn.Linear(current().width, 8),
            torch.nn.GELU(),
            torch.nn.Linear(8, current().width),
        )
        self.used = used

    def forward(self, *inputs: Any, **settings: Any) -> Any:
        """Return the block's output with the small layer's added, or by mistake not."""
        output = self.block(*inputs, **settings)
        hidden = output[0] if isinstance(output, tuple) else output
        more = self.bottleneck(hidden)
        if not self.used:
            return output
        hidden = hidden + more
        return (hidden, *output[1:]) if isinstance(output, tuple) else hidden


def build(fixed: bool) -> Case:
    """Build a frozen base with bottlenecks, and a last block that learns."""
    model = deep_base().requires_grad_(False)
    tower = blocks(model)
    set_seed(3)
    tower[-1].requires_grad_(True)
    for index, block in enumerate(list(tower)):
        tower[index] = Beside(block, used=fixed)
    return plain_case(model)


FAULT = Fault(
    "the adapters of one's own never change, and nothing complains",
    code="GRD003",
    places=("module *.bottleneck",),
    steps=18,
    evident=15,
    families=("llama", "gpt2", "neox", "own"),
)
