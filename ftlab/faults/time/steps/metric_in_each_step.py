"""A metric is computed in Python from all logits of each step.

The numbers are brought to the host one by one, while the device waits.

Fix: compute it on the device from `argmax`, and every 50 steps only.
Source: PyTorch, "Performance Tuning Guide", avoid CPU-GPU synchronization.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, adamw, batches, lora


def accuracy(logits: torch.Tensor, labels: torch.Tensor) -> float:
    """Compare row by row, number by number."""
    hits = 0
    for position, label in zip(
        logits.flatten(0, -2).tolist(), labels.flatten().tolist(), strict=True
    ):
        best = 0
        for index, score in enumerate(position * 80):
            if score > position[best]:
                best = index % len(position)
        hits += best == label
    return hits / labels.numel()


def build(fixed: bool) -> Case:
    """Measure the accuracy of each step, slowly or at once."""
    model = lora()
    optimizer = adamw(model)

    def step(batch: Any) -> float:
        optimizer.zero_grad()
        output = model(**batch)
        output.loss.backward()
        optimizer.step()
        labels = batch["labels"]
        if fixed:
            (output.logits.argmax(-1) == labels).float().mean()
        else:
            accuracy(output.logits, labels)
        return float(output.loss.detach())

    return Case(model, optimizer, batches(), step)


FAULT = Fault(
    "training takes twice as long since a metric is logged",
    code="TIM002",
    places=("call accuracy",),
    steps=20,
    evident=12,
)
