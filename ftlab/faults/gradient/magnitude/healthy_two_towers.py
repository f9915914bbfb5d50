"""Two towers and a temperature that is learned, as in CLIP.

The temperature is one number, whose gradient is of another size than all other ones;
it is clamped after each update, so that something besides the optimizer changes it.
"""

from typing import Any

import torch
from torch import nn

from ftlab.faults.builders import Case, Healthy, current
from ftlab.faults.builders.tiny import adamw, batches, own as tower


class Towers(nn.Module):
    """Two models whose answers shall agree on the same row."""

    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = tower(0), tower(1)
        self.scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        """Return the contrastive loss of pairs of rows."""
        one, two = (
            nn.functional.normalize(side(ids).logits.mean(1), dim=-1)
            for side, ids in ((self.left, left), (self.right, right))
        )
        scores = self.scale.exp() * one @ two.T
        wanted = torch.arange(len(one))
        loss = nn.functional.cross_entropy
        return (loss(scores, wanted) + loss(scores.T, wanted)) / 2


def build() -> Case:
    """Build two towers that read the two halves of rows."""
    torch.manual_seed(current().seed)
    model = Towers()
    optimizer = adamw(model, lr=1e-3)

    def step(batch: Any) -> float:
        optimizer.zero_grad()
        loss = model(*batch["input_ids"].chunk(2, 1))
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            model.scale.clamp_(0, 4.6)
        return float(loss.detach())

    return Case(model, optimizer, batches(size=8), step)


HEALTHY = Healthy(
    "one number is a parameter, and is clamped after its update",
    looks_like=("GRD001", "GRD002", "NUM002"),
)
