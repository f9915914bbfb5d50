"""A checkpoint of one's own that computes the blocks again outside of autocast.

Backward is called after ``with autocast`` has ended. What a hand-written checkpoint
runs again is computed in float32 then: gradients of another precision than that of the
loss, and more time and memory than was planned.

Fix: ``torch.utils.checkpoint``, or keep autocast's state and enter it in backward.
Source: NVIDIA/Megatron-LM#7538, NVIDIA/TransformerEngine#787, pytorch/pytorch#37730.
"""

import torch

from ftlab.faults.builders import Case, Fault, cast_loss, plain_case
from ftlab.faults.builders.blocks import blocks, deep_base
from ftlab.faults.builders.own_checkpoint import run_again


def build(fixed: bool) -> Case:
    """Train all of a model whose blocks are run again by hand."""
    model = deep_base().train()
    run_again(blocks(model), restore=fixed)
    return plain_case(model, loss_of=cast_loss(model, torch.bfloat16))


FAULT = Fault(
    "checkpointing makes a step in mixed precision much slower",
    code="GRD004",
    places=("call torch.autocast",),
    evident=1,
    families=("llama", "gpt2", "neox", "own"),
)
