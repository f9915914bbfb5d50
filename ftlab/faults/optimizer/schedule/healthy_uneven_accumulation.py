"""Accumulation over four micro-batches; the last step of an epoch has two only.

Losses are divided by the labels of the whole step. The scheduler follows the optimizer.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, adamw, backwards, batches, lora


def build() -> Case:
    """Build LoRA on groups of four, four and two micro-batches of unlike lengths."""
    model = lora()
    optimizer = adamw(model, lr=5e-3)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, 1.0, 30)
    rows = [*batches(5, size=2, length=6), *batches(5, size=2, length=16, seed=1)]
    groups = [rows[0:8:2], rows[1:9:2], rows[8:]]

    def step(group: Any) -> float:
        counts = [batch["labels"][:, 1:].numel() for batch in group]
        pairs, every = zip(group, counts, strict=True), sum(counts)
        total = backwards(model(**batch).loss * n / every for batch, n in pairs)
        optimizer.step()
        scheduler.step()
        model.zero_grad(set_to_none=False)
        return total

    return Case(model, optimizer, groups, step, scheduler=scheduler)


HEALTHY = Healthy(
    "the losses of micro-batches are of different sizes, and so are the steps",
    looks_like=("OPT003", "GRD003", "GRD002"),
)
