"""A MultiStepLR whose milestones are shares of the run.

They are compared with the number of its steps, which is never 0.5: no drop comes.

Fix: give the milestones in steps.
Source: seed; torch.optim.lr_scheduler, MultiStepLR.get_lr.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, adamw, loop_case, lora

STEPS = 8


def build(fixed: bool) -> Case:
    """Build LoRA whose rate shall fall twice."""
    model = lora()
    optimizer = adamw(model, lr=5e-3)
    shares = (0.25, 0.75)
    milestones: list[Any] = [round(each * STEPS) if fixed else each for each in shares]
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones)
    return loop_case(model, optimizer, scheduler=scheduler)


FAULT = Fault(
    "two drops of the rate were asked for, and none comes",
    code="OPT011",
    places=("config milestones",),
    steps=STEPS,
    evident=2,
    families=("llama", "gpt2", "neox", "own"),
)
