"""A warm-up and a cosine that are both stepped, on one optimizer.

The cosine's scheduler computes its rate from the base rate: what the warm-up has set is
replaced in the same breath, and the first update has the full rate.

Fix: ``SequentialLR(optimizer, [warmup, cosine], milestones=[n])``.
Source: pytorch/pytorch#33416.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, adamw, lora, updated_by

WARMUP, STEPS = 6, 40


def build(fixed: bool) -> Case:
    """Build LoRA with two schedulers, or with one that holds both."""
    lr = torch.optim.lr_scheduler
    model = lora()
    optimizer = adamw(model, lr=1e-2)
    first = lr.LinearLR(optimizer, 0.1, total_iters=WARMUP)
    if fixed:
        second = lr.CosineAnnealingLR(optimizer, STEPS)
        used: list[Any] = [lr.SequentialLR(optimizer, [first, second], [WARMUP])]
    else:
        used = [first, lr.LambdaLR(optimizer, lambda step: 1 - step / STEPS)]

    def update() -> None:
        optimizer.step()
        for scheduler in used:
            scheduler.step()

    return updated_by(update, model, optimizer, scheduler=used)


FAULT = Fault(
    "no warm-up, though one was made and is stepped",
    code="OPT015",
    places=("call scheduler 0.step",),
    evident=2,
)
