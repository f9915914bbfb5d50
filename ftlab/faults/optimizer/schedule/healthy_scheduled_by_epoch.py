"""A schedule in epochs, stepped after each: stairs, and a rate that stands still.

Six updates come between two steps of the scheduler, and its ``T_max`` is ten.
"""

from typing import Any

import torch

from ftlab.faults.builders.loops import plain_step
from ftlab.faults.builders.tiny import adamw, batches, lora
from ftlab.faults.fault import Case, Healthy

EPOCH, EPOCHS = 6, 10


def build() -> Case:
    """Build LoRA under a cosine over ten epochs of six updates."""
    model = lora()
    optimizer = adamw(model, lr=1e-2)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS)
    train = plain_step(model, optimizer)

    def step(batch: Any) -> float:
        loss = train(batch)
        if len(case.losses) % EPOCH == EPOCH - 1:
            scheduler.step()
        return loss

    case = Case(model, optimizer, batches(EPOCH), step, scheduler=scheduler)
    return case


HEALTHY = Healthy(
    "scheduled-by-epoch",
    "a scheduler that is stepped every few updates, by a plan of ten steps",
    looks_like=("OPT003", "OPT005", "OPT011", "OPT016"),
    steps=EPOCH * EPOCHS,
)
