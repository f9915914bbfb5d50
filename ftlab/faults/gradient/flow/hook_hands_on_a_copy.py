"""A forward hook that keeps a block's output and returns the detached copy.

What a hook returns takes the place of the output. Every block below learns nothing.

Fix: return ``None`` from hooks that only look, and detach only what they keep.
Source: the evidence class of locuslab/open-unlearning#178; probing code in notebooks.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, adamw, batches, lora, plain_step
from ftlab.faults.builders.blocks import block_name, blocks, deep_base

BLOCK = 1


def build(fixed: bool) -> Case:
    """Build LoRA on a model with a hook on its second block."""
    model = lora(deep_base())
    kept: list[torch.Tensor] = []

    def keep(_: Any, __: Any, output: Any) -> Any:
        hidden = output[0] if isinstance(output, tuple) else output
        kept[:] = [hidden.detach()]
        if fixed:
            return None
        return (kept[0], *output[1:]) if isinstance(output, tuple) else kept[0]

    blocks(model)[BLOCK].register_forward_hook(keep)
    optimizer = adamw(model)
    step = plain_step(model, optimizer)
    places = (f"module {block_name(model, BLOCK)}", "op detach")
    return Case(model, optimizer, batches(), step, places=places)


FAULT = Fault(
    "after a look at hidden states only the upper blocks learn",
    code="GRD003",
    places=("module *.1", "op detach"),
    steps=10,
    also=("ADP001",),
    families=("llama", "gpt2", "neox", "own"),
)
