"""With gradient checkpointing the evaluation is noisier than without.

Blocks with a batch norm are checkpointed: in backward they run again, and take the same
batch into their running statistics once more.

Fix: keep batch norms out of what is checkpointed.
Source: fairscale `checkpoint_wrapper`, which patches batch norms for this; measured.
"""

from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from ftlab.faults.builders import Case, Fault, base, current, plain_case
from ftlab.faults.builders.blocks import blocks


class Normed(nn.Module):
    """A block, and a batch norm over what it puts out."""

    def __init__(self, block: nn.Module, *, inside: bool) -> None:
        super().__init__()
        self.block = block
        self.norm = nn.BatchNorm1d(current().width)
        self.inside = inside

    def forward(self, hidden: torch.Tensor, *inputs: Any, **settings: Any) -> Any:
        """Run the block as a checkpoint, the norm in it or after it."""

        def run(hidden: torch.Tensor) -> Any:
            made = self.block(hidden, *inputs, **settings)
            return self.normed(made) if self.inside else made

        made = checkpoint(run, hidden, use_reentrant=False)
        return made if self.inside else self.normed(made)

    def normed(self, made: Any) -> Any:
        """Normalise each feature over all tokens."""
        whole = made[0] if isinstance(made, tuple) else made
        output = self.norm(whole.flatten(0, 1)).view_as(whole)
        return (output, *made[1:]) if isinstance(made, tuple) else output


def build(fixed: bool) -> Case:
    """Checkpoint blocks with their batch norms, or without."""
    model = base()
    tower = blocks(model)
    for index, block in enumerate(list(tower)):
        tower[index] = Normed(block, inside=not fixed)
    return plain_case(model.train())


FAULT = Fault(
    "running statistics are updated twice by each batch",
    code="GRD004",
    places=("module *.0.norm",),
    families=("llama", "neox", "own"),
)
