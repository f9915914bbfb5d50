"""A CosineAnnealingLR that is used as a wave, stepped after each epoch.

Its ``T_max`` is three epochs of four updates: the rate is at its top every six epochs.
"""

from typing import Any

import torch

from ftlab.faults.builders.loops import plain_step
from ftlab.faults.builders.tiny import adamw, batches, lora
from ftlab.faults.fault import Case, Healthy

EPOCH, LENGTH = 4, 3


def build() -> Case:
    """Build LoRA under a wave of six epochs."""
    model = lora()
    optimizer = adamw(model, lr=5e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, LENGTH)
    train = plain_step(model, optimizer)

    def step(batch: Any) -> float:
        loss = train(batch)
        if len(case.losses) % EPOCH == EPOCH - 1:
            scheduler.step()
        return loss

    case = Case(model, optimizer, batches(EPOCH), step, scheduler=scheduler)
    return case


HEALTHY = Healthy(
    "waves-of-epochs",
    "a T_max of three, and a rate that comes back to its top again and again",
    looks_like=("OPT011", "OPT003", "OPT016"),
    steps=EPOCH * LENGTH * 5,
)
