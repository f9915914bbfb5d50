"""Adapters run in forward hooks that forget to return what they have computed.

A forward hook that returns ``None`` leaves the output as it is. The adapters run, cost
their time and get no gradient; what else is trained goes on learning.

Fix: ``return output + adapter(output)`` at the end of the hook.
Source: torch, `Module.register_forward_hook`: "hook(module, input, output) -> None or
modified output".
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, current, feed_forward, set_seed
from ftlab.faults.builders.blocks import blocks, deep_base
from ftlab.faults.builders.loops import plain_case


class Hooked(torch.nn.Module):
    """A frozen model with adapters on the output of a layer in each block."""

    def __init__(self, returned: bool) -> None:
        super().__init__()
        self.model = deep_base().requires_grad_(False)
        tower = blocks(self.model)
        tower[-1].requires_grad_(True)
        last = feed_forward(self.model)
        set_seed(3)
        self.adapters = torch.nn.ModuleList()
        for block in tower:
            layers = [m for n, m in block.named_modules() if n.split(".")[-1] in last]
            layer = min(layers, key=_width)
            self.adapters.append(_adapter(_width(layer)))
            layer.register_forward_hook(_hook(self.adapters[-1], returned))

    def forward(self, **batch: Any) -> Any:
        """Run the model."""
        return self.model(**batch)


def _width(layer: torch.nn.Module) -> int:
    with torch.no_grad():
        rows = torch.zeros(1, current().width)
        try:
            return int(layer(rows).shape[-1])
        except RuntimeError:  # it takes something else than the hidden states
            return current().width


def _adapter(width: int) -> torch.nn.Module:
    return torch.nn.Sequential(
        torch.nn.Linear(width, 4), torch.nn.GELU(), torch.nn.Linear(4, width)
    )


def _hook(adapter: torch.nn.Module, returned: bool) -> Any:
    def hook(_: torch.nn.Module, __: Any, output: torch.Tensor) -> Any:
        added = output + 0.1 * adapter(output)
        return added if returned else None

    return hook


def build(fixed: bool) -> Case:
    """Build hooks that return what they computed, or do not."""
    model = Hooked(returned=fixed)
    return plain_case(model)


FAULT = Fault(
    "adapters on forward hooks never change, the rest does",
    code="GRD003",
    places=("module adapters.?",),
    steps=8,
    evident=1,
    families=("llama", "gpt2", "neox", "own"),
)
