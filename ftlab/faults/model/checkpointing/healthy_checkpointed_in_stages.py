"""A checkpoint around every two blocks, and one around each block in these.

Only the inputs of the stages are kept, and those of one stage's blocks while it is gone
through backwards: each block runs three times, on purpose.
"""

from typing import Any

from torch import nn
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import (
    CheckpointImpl,
    checkpoint_wrapper,
)

from ftlab.faults.builders import Case, Healthy, lora, plain_case
from ftlab.faults.builders.blocks import blocks, deep_base


class Stage(nn.Module):
    """Blocks that run one after the other."""

    def __init__(self, *inside: nn.Module) -> None:
        super().__init__()
        self.inside = nn.ModuleList(inside)

    def forward(self, hidden: Any, *inputs: Any, **settings: Any) -> Any:
        """Run them all with the same settings."""
        for block in self.inside:
            hidden = block(hidden, *inputs, **settings)
        return hidden


def build() -> Case:
    """Put four blocks into two stages."""
    model = deep_base().train()
    model.gradient_checkpointing_enable({"use_reentrant": True})
    model.enable_input_require_grads()
    tower = blocks(model)
    for first in (0, 1):  # each stage takes the place of its first block
        stage = Stage(tower[first], tower[first + 1])
        tower[first] = checkpoint_wrapper(stage, CheckpointImpl.REENTRANT)
        del tower[first + 1]
    model = lora(model).train()
    return plain_case(model)


HEALTHY = Healthy(
    "each block is computed again twice in backward",
    looks_like=("MOD011",),
)
