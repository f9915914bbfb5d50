"""unscale_ and update after each micro-batch, for a clipping in between.

The second micro-batch is added, scaled, to gradients of the first that are not. At the
step all of it is divided once more: the first micro-batch counts for nothing.

Fix: unscale, clip, step and update once per update, after the last micro-batch.
Source: pytorch/pytorch#36601, microsoft/Swin-Transformer#311.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, adamw, base, batches, lora

MICRO = 2


def build(fixed: bool) -> Case:
    """Build LoRA with two micro-batches per update."""
    model = lora(base())
    optimizer = adamw(model)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**12)

    def step(group: Any) -> float:
        optimizer.zero_grad()
        total = 0.0
        for place, batch in enumerate(group):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = model(**batch).loss / MICRO
            scaler.scale(loss).backward()
            total += float(loss.detach())
            if not fixed and place < MICRO - 1:
                scaler.unscale_(optimizer)
                scaler.update()
        scaler.step(optimizer)
        scaler.update()
        return total

    rows = batches(8, size=2)
    groups = [rows[index : index + MICRO] for index in range(0, 8, MICRO)]
    return Case(model, optimizer, groups, step, scaler=scaler)


FAULT = Fault(
    "only the last micro-batch of each update counts",
    code="NUM006",
    places=("call scaler.unscale_",),
    evident=1,
)
