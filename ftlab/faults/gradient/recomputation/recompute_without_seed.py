"""Checkpointed blocks that draw other dropout masks in backward than in forward.

With ``preserve_rng_state=False`` the second pass goes on with whatever random numbers
are next: gradients belong to a pass that never happened.

Fix: leave ``preserve_rng_state`` at its default.
Source: torch.utils.checkpoint, on ``preserve_rng_state``; copied for speed.
"""

from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from ftlab.faults.builders import Case, Fault, lora, plain_case
from ftlab.faults.builders.blocks import blocks, deep_base


class Checkpointed(nn.Module):
    """Runs a block with dropout before it, again in backward."""

    def __init__(self, block: nn.Module, seeded: bool) -> None:
        super().__init__()
        self.block = block
        self.dropout = nn.Dropout(0.2)
        self.seeded = seeded

    def forward(self, hidden: torch.Tensor, *inputs: Any, **settings: Any) -> Any:
        """Run the block as a checkpoint."""

        def run(hidden: torch.Tensor) -> torch.Tensor:
            return self.block(self.dropout(hidden), *inputs, **settings)

        return checkpoint(
            run, hidden, use_reentrant=False, preserve_rng_state=self.seeded
        )


def build(fixed: bool) -> Case:
    """Build LoRA on a model whose blocks are checkpointed by hand."""
    base = deep_base()
    tower = blocks(base)
    for index, block in enumerate(list(tower)):
        tower[index] = Checkpointed(block, seeded=fixed)
    model = lora(base).train()
    return plain_case(model)


FAULT = Fault(
    "the loss falls more slowly and more noisily with checkpointing than without",
    code="GRD004",
    places=("module *.dropout", "config preserve_rng_state"),
    evident=1,
    families=("llama", "own"),
)
