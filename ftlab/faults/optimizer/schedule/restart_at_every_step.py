"""Warm restarts of a cosine whose first cycle is one epoch, stepped for each batch.

``T_0=1`` was meant in epochs. Each step without a fraction is a whole cycle: the rate
begins anew at its top, and never comes down.

Fix: give ``T_0`` in what the scheduler is stepped by.
Source: seed; torch.optim.lr_scheduler, CosineAnnealingWarmRestarts.step.
"""

import torch

from ftlab.faults.builders import Case, Fault, adamw, loop_case, lora

CYCLE = 4


def build(fixed: bool) -> Case:
    """Build LoRA under cycles of four updates, or of one."""
    model = lora()
    optimizer = adamw(model, lr=5e-3)
    restarts = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts
    scheduler = restarts(optimizer, T_0=CYCLE if fixed else 1)
    return loop_case(model, optimizer, scheduler=scheduler)


FAULT = Fault(
    "a cosine with restarts was asked for, and the rate is a flat line at its top",
    code="OPT011",
    places=("config T_0",),
    evident=2,
    families=("llama", "gpt2", "neox", "own"),
)
