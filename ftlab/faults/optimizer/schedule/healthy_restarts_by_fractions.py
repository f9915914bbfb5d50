"""Warm restarts with a cycle of one epoch, stepped by fractions of epochs.

``T_0=1`` and no factor is what restarts at each whole step; here each update passes
where in its epoch it stands, as the documentation of the scheduler does.
"""

import torch

from ftlab.faults.builders import Case, Healthy, adamw, batches, loop_with, lora

LOADER = 8


def build() -> Case:
    """Build LoRA under a cosine that begins anew with each epoch."""
    model = lora()
    optimizer = adamw(model, lr=5e-3)
    restarts = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts
    scheduler = restarts(optimizer, T_0=1)

    def after(done: int) -> None:
        scheduler.step((done + 1) / LOADER)

    return loop_with(
        model, optimizer, batches(LOADER), after=after, scheduler=scheduler
    )


HEALTHY = Healthy(
    "a scheduler with T_0=1 that is stepped for each batch",
    looks_like=("OPT011", "OPT003", "OPT015", "OPT016"),
    steps=40,
)
