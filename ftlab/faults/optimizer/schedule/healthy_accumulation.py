"""Gradient accumulation over four micro-batches, scheduler once per update.

During three of four backward passes no weight moves, and gradients are not cleared.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, adamw, backwards, lora, micro_batches

MICRO = 4


def build() -> Case:
    """Build LoRA with a step of four micro-batches."""
    model = lora()
    optimizer = adamw(model, lr=1e-2)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 200)

    def step(group: Any) -> float:
        total = backwards(model(**batch).loss / MICRO for batch in group)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        return total

    groups = micro_batches(MICRO)
    return Case(model, optimizer, groups, step, scheduler=scheduler)


HEALTHY = Healthy(
    "several backward passes per update, zero_grad after the scheduler's step",
    looks_like=("OPT003", "GRD003"),
)
