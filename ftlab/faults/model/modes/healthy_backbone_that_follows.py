"""A second backbone is the running average of the first, as in MoCo or DINO.

It is frozen for the optimizer alone: its weights are averaged by hand after each
update, and its batch norms gather statistics as the first one's do.
"""

from typing import Any

import torch
from torch import nn

from ftlab.faults.builders import Case, Healthy, adamw, pictures
from ftlab.faults.builders.convolutions import residual

KEPT = 0.99
"""Share of the average that stays at each update."""


def build() -> Case:
    """Build two backbones, of which one is trained towards the other."""
    model = nn.ModuleDict({"query": residual(), "key": residual()})
    model["key"].requires_grad_(False)
    optimizer = adamw(model, lr=1e-3)

    def step(batch: Any) -> float:
        optimizer.zero_grad()
        seen = batch["pixel_values"]
        with torch.no_grad():
            wanted = model["key"](seen).logits
        loss = (model["query"](seen + 0.1).logits - wanted).square().mean()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            pairs = zip(
                model["key"].parameters(), model["query"].parameters(), strict=True
            )
            for key, query in pairs:
                key.lerp_(query, 1 - KEPT)
        return float(loss.detach())

    return Case(model, optimizer, pictures(), step)


HEALTHY = Healthy(
    "statistics of a part without gradients follow the data",
    looks_like=("MOD023", "ADP007"),
)
