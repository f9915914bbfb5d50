"""Gradients are clipped by value, loosely, and their norm is read after the step.

For the log ``clip_grad_norm_`` is called once more when the weights have moved, with an
infinite limit; and the norm of each tensor as well.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, batches, lora, trainable


def build() -> Case:
    """Build LoRA under SGD whose norms are read with the function that clips."""
    model = lora()
    weights = trainable(model)
    optimizer = torch.optim.SGD(weights, lr=1.0)
    norms: list[float] = []

    def step(batch: Any) -> float:
        loss = model(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_value_(weights, 0.5)
        for weight in weights:
            torch.nn.utils.clip_grad_norm_(weight, 1e3)
        optimizer.step()
        norms.append(float(torch.nn.utils.clip_grad_norm_(weights, float("inf"))))
        optimizer.zero_grad()
        return float(loss.detach())

    return Case(model, optimizer, batches(), step)


HEALTHY = Healthy(
    "clip_grad_norm_ is called after the step, and tensor by tensor before it",
    looks_like=("GRD011", "GRD013", "GRD015"),
    steps=60,
)
