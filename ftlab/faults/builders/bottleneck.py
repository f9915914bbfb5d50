"""Bottleneck adapters behind the blocks of a model, written by hand and not by PEFT."""

from typing import Any

import torch
from torch import nn

from ftlab.faults.builders.blocks import blocks
from ftlab.faults.builders.tiny import base, set_seed
from ftlab.faults.variation import current

NARROW = 8
"""Width of the bottleneck."""


class Bottleneck(nn.Module):
    """Two layers and what goes past them; the second starts at 0."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.down = nn.Linear(width, NARROW, bias=False)
        self.up = nn.Linear(NARROW, width, bias=False)
        nn.init.zeros_(self.up.weight)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Add what the two layers make of ``hidden``."""
        return hidden + self.up(nn.functional.gelu(self.down(hidden)))


class Adapted(nn.Module):
    """A block with a bottleneck behind it."""

    def __init__(self, block: nn.Module) -> None:
        super().__init__()
        self.block = block
        self.bottleneck = Bottleneck(current().width)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the block, then the bottleneck on what is first of its output."""
        output = self.block(*args, **kwargs)
        if isinstance(output, tuple):
            return (self.bottleneck(output[0]), *output[1:])
        return self.bottleneck(output)

    def __getattr__(self, name: str) -> Any:
        """Let models ask their blocks for attributes."""
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("block"), name)


def with_bottlenecks() -> tuple[Any, list[Bottleneck]]:
    """Build a frozen model of the variation's family with a bottleneck per block."""
    model = base()
    model.requires_grad_(False)
    set_seed(1)
    stack = blocks(model)
    adapted = [Adapted(block) for block in stack]
    for index, block in enumerate(adapted):
        stack[index] = block
    return model, [block.bottleneck for block in adapted]
