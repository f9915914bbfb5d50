"""Gradients that are only looked at: how much each weight matters to a task.

Their squares are summed up (a Fisher matrix for elastic weight consolidation) over
batches whose gradients are cleared each time. Nothing is to be updated.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, batches, lora, trainable

TOGETHER = 3


def build() -> Case:
    """Build LoRA of which only the gradients are of interest."""
    model = lora()
    squares = [torch.zeros_like(each) for each in trainable(model)]
    seen = 0

    def step(batch: Any) -> float:
        nonlocal seen
        loss = model(**batch).loss
        loss.backward()
        seen += 1
        if seen % TOGETHER == 0:
            for total, each in zip(squares, trainable(model), strict=True):
                if each.grad is not None:
                    total += each.grad**2
            model.zero_grad()
        return float(loss.detach())

    return Case(model, None, batches(size=2), step)


HEALTHY = Healthy(
    "backwards without any update, whose gradients are cleared",
    looks_like=("GRD019",),
    steps=20,
)
