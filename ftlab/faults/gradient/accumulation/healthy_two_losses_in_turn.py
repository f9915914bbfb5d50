"""Two parts of one model with an optimizer each, trained in turn as in a GAN.

The second loss also leaves gradients in the first part; they are cleared before the
first part's next turn, and not by the optimizer that has just stepped.
"""

from typing import Any

import torch

from ftlab.faults.builders.tiny import attention, base, batches, lora, trainable
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Build LoRA whose layers belong to two optimizers by turns."""
    bare = base()
    model = lora(bare, target_modules=attention(bare))
    weights = trainable(model)
    first = torch.optim.AdamW(weights[::2], lr=1e-3, weight_decay=0.0)
    second = torch.optim.AdamW(weights[1::2], lr=1e-3, weight_decay=0.0)

    def turn(batch: Any, optimizer: torch.optim.Optimizer) -> float:
        optimizer.zero_grad(set_to_none=False)
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        return float(loss.detach())

    def step(batch: Any) -> float:
        return (turn(batch, first) + turn(batch, second)) / 2

    return Case(model, [first, second], batches(), step)


HEALTHY = Healthy(
    "when one optimizer's backward begins, the other one's gradients are still there",
    looks_like=("GRD005", "OPT002"),
    steps=60,
)
