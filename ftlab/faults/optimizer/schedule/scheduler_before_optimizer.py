"""scheduler.step() before optimizer.step().

The first value of the schedule is never used, and every update runs with the rate of
the next one. PyTorch warns once, and training goes on.

Fix: optimizer.step(), then scheduler.step().
Source: PyTorch's own warning.
"""

import warnings

import torch

from ftlab.faults.builders import Case, Fault, adamw, lora, updated_by


def build(fixed: bool) -> Case:
    """Build a LoRA model with the two calls swapped."""
    model = lora()
    optimizer = adamw(model, lr=1e-2)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.9**step)

    def update() -> None:
        order = (optimizer, scheduler) if fixed else (scheduler, optimizer)
        with warnings.catch_warnings(action="ignore"):
            for each in order:
                each.step()

    return updated_by(update, model, optimizer, scheduler=scheduler)


FAULT = Fault(
    "the schedule is one step ahead of training",
    code="OPT003",
    places=("call scheduler.step before optimizer.step",),
    steps=8,
    evident=1,
)
