"""Gradients of two tasks that are projected on each other before the update (PCGrad).

Each task has a backward of its own, whose gradients are copied and cleared; what the
optimizer gets is put together by hand.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, adamw, batches, lora, trainable


def build() -> Case:
    """Build LoRA with two halves of each batch as tasks."""
    model = lora()
    optimizer = adamw(model)
    weights = trainable(model)

    def gradient(half: Any) -> tuple[float, list[torch.Tensor]]:
        optimizer.zero_grad()
        loss = model(**half).loss
        loss.backward()
        found = [torch.zeros_like(w) if w.grad is None else w.grad for w in weights]
        return float(loss.detach()), [each.clone() for each in found]

    def step(batch: Any) -> float:
        halves = [{k: v[part::2] for k, v in batch.items()} for part in (0, 1)]
        (one, first), (two, second) = map(gradient, halves)
        for weight, a, b in zip(weights, first, second, strict=True):
            inner = (a * b).sum()
            if inner < 0:
                a = a - inner / b.square().sum() * b
            weight.grad = a + b
        optimizer.step()
        return (one + two) / 2

    return Case(model, optimizer, batches(), step)


HEALTHY = Healthy(
    "gradients are cleared between two backwards of one update",
    looks_like=("GRD005", "GRD003"),
    steps=60,
)
