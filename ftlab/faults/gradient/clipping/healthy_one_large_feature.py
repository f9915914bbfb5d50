"""Values are clipped, and one feature in raw units makes nearly all of the norm.

Its column of weights has gradients hundreds of times larger than all others: those are
cut, in every step, and the rest is left as it is. That is what a limit for values does.
"""

from typing import Any

import torch
from torch import nn

from ftlab.faults.builders import Case, Healthy, set_seed

FEATURES, LARGE = 16, 1000.0


def build() -> Case:
    """Build a small regression whose first feature is not normalised."""
    set_seed(0)
    first = nn.Linear(FEATURES, 16)
    nn.init.zeros_(first.weight[:, :1].detach())
    model = nn.Sequential(first, nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    features = torch.randn(8, 32, FEATURES)
    wanted = features[..., 1:].sum(-1, keepdim=True)
    features[..., 0] *= LARGE
    made = [{"x": x, "y": y} for x, y in zip(features, wanted, strict=True)]

    def step(batch: Any) -> float:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(batch["x"]), batch["y"])
        loss.backward()
        nn.utils.clip_grad_value_(model.parameters(), 1.0)
        optimizer.step()
        return float(loss.detach())

    return Case(model, optimizer, made, step)


HEALTHY = Healthy(
    "clipping by value cuts off most of the norm in every step",
    looks_like=("GRD015",),
    steps=60,
)
