"""Blocks are checkpointed by torch's wrapper and by transformers as well.

Each of the two computes a block again in backward, so that forward runs three times a
step in place of two. The memory is that of one of them.

Fix: keep one: leave out ``gradient_checkpointing_enable()``.
Source: meta-llama/llama-cookbook#740, Lightning-AI/pytorch-lightning#18006.
"""

from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import (
    apply_activation_checkpointing,
)

from ftlab.faults.builders import Case, Fault, base, lora, plain_case
from ftlab.faults.builders.blocks import blocks


def build(fixed: bool) -> Case:
    """Wrap each block of a model on which checkpointing may be on."""
    model = lora(base())
    model.enable_input_require_grads()
    if not fixed:
        model.gradient_checkpointing_enable({"use_reentrant": True})
    kinds = {type(block) for block in blocks(model)}
    apply_activation_checkpointing(model, check_fn=lambda each: type(each) in kinds)
    model.train()
    return plain_case(model)


FAULT = Fault(
    "a step takes longer than checkpointing explains",
    code="MOD011",
    places=("module *",),
    evident=2,
    families=("llama", "gpt2", "neox"),
)
