"""Warm-up and then the inverse square root, written as a LambdaLR, once per epoch too.

Two schedules are chained: the second one drops by a tenth every eight steps, an epoch.
"""

import torch

from ftlab.faults.builders import Case, Healthy, adamw, batches, lora, plain_step
from ftlab.faults.builders.around import loop_with

WARM = 20


def shape(step: int) -> float:
    """Return the learning rate's share of its height."""
    return min((step + 1) / WARM, (WARM / (step + 1)) ** 0.5)


def build() -> Case:
    """Build LoRA with a schedule per step and one per epoch."""
    model = lora()
    optimizer = adamw(model, lr=1e-2)
    kinds = torch.optim.lr_scheduler
    per_step = kinds.LambdaLR(optimizer, shape)
    per_epoch = kinds.MultiplicativeLR(optimizer, lambda _: 0.97)
    train = plain_step(model, optimizer, per_step)
    rows = batches()

    def after(done: int) -> None:
        if done % len(rows) == len(rows) - 1:
            per_epoch.step()

    return loop_with(
        model,
        optimizer,
        rows,
        train=train,
        after=after,
        scheduler=[per_step, per_epoch],
    )


HEALTHY = Healthy(
    "two schedules of one optimizer; at the end of an epoch both are stepped",
    looks_like=("OPT003", "NUM002"),
)
