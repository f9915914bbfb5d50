"""A wrapper that keeps hidden states hands the detached copy on.

The layers below the wrapper receive no gradient. The loss still falls, for the layers
above learn, only more slowly than it should.

Fix: return the tensor that came in, and detach only the copy that is kept.
Source: the evidence class of locuslab/open-unlearning#178.
"""

from typing import Any

import torch

from ftlab.faults.fault import Case, Fault
from ftlab.faults.loops import plain_step
from ftlab.faults.tiny import adamw, batches, llama, lora


class Keeping(torch.nn.Module):
    """Runs a layer and keeps its output for later."""

    def __init__(self, layer: torch.nn.Module, detached: bool) -> None:
        super().__init__()
        self.layer = layer
        self.detached = detached
        self.kept: torch.Tensor | None = None

    def forward(self, *inputs: Any, **settings: Any) -> torch.Tensor:
        """Return the layer's output, or by mistake what was kept of it."""
        hidden: torch.Tensor = self.layer(*inputs, **settings)
        self.kept = hidden.detach()
        return self.kept if self.detached else hidden


def build(fixed: bool) -> Case:
    """Build a four-layer LoRA model with a wrapper around its second layer."""
    base = llama(num_hidden_layers=4)
    base.model.layers[1] = Keeping(base.model.layers[1], detached=not fixed)
    model = lora(base)
    optimizer = adamw(model)
    return Case(model, optimizer, batches(), plain_step(model, optimizer))


FAULT = Fault(
    "detach-breaks-graph",
    "only the upper half of the adapters learns",
    code="GRD003",
    places=("module *layers.1",),
    builder=build,
    steps=10,
    also=("ADP001",),
)
