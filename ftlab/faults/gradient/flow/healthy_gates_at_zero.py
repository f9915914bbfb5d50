"""Bottleneck adapters of one's own behind gates that start at 0 (ReZero).

At the first step the gate is 0, so all behind it has a gradient of exactly 0; the gate
moves first. No PEFT is involved.
"""

import torch
from torch import nn

from ftlab.faults.builders import Case, Healthy, current, own, plain_case


class Gated(nn.Module):
    """A frozen layer, and a bottleneck beside it that is let in step by step."""

    def __init__(self, frozen: nn.Linear) -> None:
        super().__init__()
        self.frozen = frozen
        rank = current().rank
        self.down = nn.Linear(frozen.in_features, rank)
        self.up = nn.Linear(rank, frozen.out_features)
        self.gate = nn.Parameter(torch.zeros(1))

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Add what the bottleneck says, as far as the gate is open."""
        more = self.up(nn.functional.relu(self.down(hidden)))
        return self.frozen(hidden) + self.gate * more


def build() -> Case:
    """Build adapters behind gates in a frozen model."""
    model = own().requires_grad_(False)
    for floor in model.tower:
        floor.grow = Gated(floor.grow)
    return plain_case(model, lr=1e-2)


HEALTHY = Healthy(
    "behind a gate of 0 every gradient is exactly 0 at first",
    looks_like=("GRD003", "GRD001", "ADP001"),
)
