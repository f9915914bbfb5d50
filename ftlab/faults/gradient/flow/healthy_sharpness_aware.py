"""Sharpness-aware minimisation: two passes per step, the first at the weights as such.

Between the two the loop itself moves the weights uphill, and back again.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, adamw, batches, lora, trainable

RADIUS = 0.05


def build() -> Case:
    """Build LoRA with a step up the slope before each step down."""
    model = lora()
    optimizer = adamw(model, lr=2e-3)
    weights: list[Any] = trainable(model)

    def step(batch: Any) -> float:
        loss = model(**batch).loss
        loss.backward()
        uphill = [RADIUS * (p.grad / (p.grad.norm() + 1e-12)) for p in weights]
        with torch.no_grad():
            torch._foreach_add_(weights, uphill)
        optimizer.zero_grad()
        model(**batch).loss.backward()
        with torch.no_grad():
            torch._foreach_sub_(weights, uphill)
        optimizer.step()
        optimizer.zero_grad()
        return float(loss.detach())

    return Case(model, optimizer, batches(), step)


HEALTHY = Healthy(
    "gradients are cleared between two backward passes, weights are moved by hand",
    looks_like=("GRD003", "NUM002"),
)
