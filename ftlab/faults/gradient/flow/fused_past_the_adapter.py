"""A fused forward takes the weights of the layers and never calls them.

``F.linear(x, self.query.weight)`` is what fused attention of one's own does. LoRA has
put its layer in the place of the module; its weight is still there to be taken, and
what the adapter adds is not.

Fix: call the layer, or switch the fused forward off while adapters are trained.
Source: seen in fused forwards that read ``.weight`` of the projections;
huggingface/peft, "custom models": only modules that are called are adapted.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, attention, current, lora, set_seed
from ftlab.faults.builders.blocks import blocks, deep_base
from ftlab.faults.builders.loops import plain_case


class Gated(torch.nn.Module):
    """A block with a small projection after it, called or taken apart."""

    def __init__(self, block: torch.nn.Module, fused: bool) -> None:
        super().__init__()
        self.block = block
        self.refine = torch.nn.Linear(current().width, current().width, bias=False)
        self.fused = fused

    def forward(self, *inputs: Any, **settings: Any) -> Any:
        """Add what the projection gives to the block's output."""
        output = self.block(*inputs, **settings)
        hidden = output[0] if isinstance(output, tuple) else output
        if self.fused:
            weight: torch.Tensor = self.refine.weight
            more = torch.nn.functional.linear(hidden, weight)
        else:
            more = self.refine(hidden)
        hidden = hidden + 0.1 * more
        return (hidden, *output[1:]) if isinstance(output, tuple) else hidden


def build(fixed: bool) -> Case:
    """Build LoRA on the attention and on a projection of each block's own."""
    base = deep_base()
    tower = blocks(base)
    set_seed(3)
    for index, block in enumerate(list(tower)):
        tower[index] = Gated(block, fused=not fixed)
    model = lora(base, target_modules=[*attention(base), "refine"])
    return plain_case(model)


FAULT = Fault(
    "the adapters on some of the layers keep their first values",
    code="GRD003",
    places=("module *.refine",),
    steps=10,
    evident=1,
    also=("ADP001",),
    families=("llama", "gpt2", "neox", "own"),
)
