"""A schedule of an optimizer that never steps, whose rates the loop copies over.

``group["lr"] = scheduler.get_last_lr()[0]`` is how some loops keep one schedule for
several optimizers.
"""

import warnings

import torch

from ftlab.faults.builders import Case, Healthy, adamw, lora, trainable, updated_by


def build() -> Case:
    """Build LoRA at the rates of another optimizer's schedule."""
    model = lora()
    optimizer = adamw(model, lr=5e-3)
    clock = torch.optim.SGD(trainable(model), lr=5e-3)
    scheduler = torch.optim.lr_scheduler.LinearLR(clock, 1.0, 0.5, 60)

    def update() -> None:
        optimizer.step()
        with warnings.catch_warnings(action="ignore"):
            scheduler.step()
        optimizer.param_groups[0]["lr"] = scheduler.get_last_lr()[0]

    return updated_by(update, model, optimizer, scheduler=scheduler)


HEALTHY = Healthy(
    "the scheduler belongs to an optimizer that never steps, and holds the adapter too",
    looks_like=("OPT007", "OPT008"),
    steps=60,
)
