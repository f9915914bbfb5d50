"""A wrapper that keeps hidden states hands the detached copy on.

The layers below the wrapper receive no gradient. The loss still falls, for the layers
above learn, only more slowly than it should.

Fix: return the tensor that came in, and detach only the copy that is kept.
Source: the evidence class of locuslab/open-unlearning#178.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, lora, plain_case
from ftlab.faults.builders.blocks import blocks, deep_base


class Keeping(torch.nn.Module):
    """Runs a layer and keeps its output for later."""

    def __init__(self, layer: torch.nn.Module, detached: bool) -> None:
        super().__init__()
        self.layer = layer
        self.detached = detached
        self.kept: torch.Tensor | None = None

    def forward(self, *inputs: Any, **settings: Any) -> Any:
        """Return the layer's output, or by mistake what was kept of it."""
        output = self.layer(*inputs, **settings)
        hidden = output[0] if isinstance(output, tuple) else output
        self.kept = hidden.detach()
        if not self.detached:
            return output
        return (self.kept, *output[1:]) if isinstance(output, tuple) else self.kept


def build(fixed: bool) -> Case:
    """Build LoRA on at least four layers, with a wrapper around its second layer."""
    base = deep_base()
    tower = blocks(base)
    tower[1] = Keeping(tower[1], detached=not fixed)
    model = lora(base)
    return plain_case(model)


FAULT = Fault(
    "only the upper half of the adapters learns",
    code="GRD003",
    places=("module *.1", "op detach"),
    steps=10,
    also=("ADP001",),
    families=("llama", "gpt2", "neox", "own"),
)
