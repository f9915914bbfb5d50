"""A head of six sigmoid layers: only its last layers learn.

Each sigmoid passes on at most a quarter of the gradient, and there is no path around
it. Six layers down, the gradient is smaller by five orders of magnitude.

Fix: GELU and a residual path.
Source: the textbook case; seen in hand-written bottleneck and reward heads.
"""

from typing import Any

import torch
from torch import nn

from ftlab.faults.builders import Case, Fault, llama, plain_case

LAYERS = 7


class Layer(nn.Module):
    """One layer of the head."""

    def __init__(self, size: int, residual: bool) -> None:
        super().__init__()
        self.linear = nn.Linear(size, size)
        self.residual = residual

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Transform the hidden states."""
        if self.residual:
            return hidden + nn.functional.gelu(self.linear(hidden))
        return torch.sigmoid(self.linear(hidden))


class Scorer(nn.Module):
    """A frozen language model with a trained head that gives a score."""

    def __init__(self, residual: bool) -> None:
        super().__init__()
        self.backbone = llama().model
        self.backbone.requires_grad_(False)
        torch.manual_seed(0)
        size = self.backbone.config.hidden_size
        self.layers = nn.ModuleList(Layer(size, residual) for _ in range(LAYERS))
        self.score = nn.Linear(size, 1)

    def forward(self, input_ids: torch.Tensor, **inputs: Any) -> torch.Tensor:
        """Return one score per sequence."""
        hidden = self.backbone(input_ids).last_hidden_state[:, -1]
        for layer in self.layers:
            hidden = layer(hidden)
        return self.score(hidden).squeeze(-1)


def build(fixed: bool) -> Case:
    """Build a scorer that learns whether the first token is large."""
    model = Scorer(residual=fixed)

    def loss_of(batch: Any) -> torch.Tensor:
        wanted = batch["input_ids"][:, 0] / 128.0
        return nn.functional.mse_loss(model(**batch), wanted)

    return plain_case(model, loss_of=loss_of)


FAULT = Fault(
    "the lower layers of a deep head do not learn",
    code="GRD001",
    places=("param layers.0.linear.*",),
    steps=12,
    evident=4,
)
