"""A block that is called under ``torch.no_grad`` in a training forward.

Left over from a frozen tower or from measuring: neither the block nor anything below it
learns, the blocks above do.

Fix: call the block outside of ``no_grad``; freeze it with ``requires_grad_(False)``.
Source: the evidence class of locuslab/open-unlearning#178; 2U1/Qwen-VL-Series-Finetune.
"""

from typing import Any

import torch
from torch import nn

from ftlab.faults.builders import Case, Fault, lora, plain_case
from ftlab.faults.builders.blocks import blocks, deep_base

BLOCK = 1


class Quiet(nn.Module):
    """Runs a block with gradients off."""

    def __init__(self, block: nn.Module, graded: bool) -> None:
        super().__init__()
        self.block = block
        self.graded = graded

    def forward(self, *inputs: Any, **settings: Any) -> Any:
        """Run the block."""
        with torch.set_grad_enabled(self.graded):
            return self.block(*inputs, **settings)


def build(fixed: bool) -> Case:
    """Build LoRA on a model whose second block is run quietly."""
    base = deep_base()
    tower = blocks(base)
    tower[BLOCK] = Quiet(tower[BLOCK], graded=fixed)
    model = lora(base)
    return plain_case(model)


FAULT = Fault(
    "the lower half of the adapters stays where it was",
    code="GRD003",
    places=("module *.1.block", "module *.1", "call torch.no_grad"),
    steps=10,
    also=("ADP001",),
    families=("llama", "gpt2", "neox", "own"),
)
