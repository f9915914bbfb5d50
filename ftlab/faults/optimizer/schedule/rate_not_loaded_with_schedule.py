"""A run that goes on with the scheduler's state, and not with the optimizer's.

StepLR multiplies the rate in use. It counts on from where it was, and finds the rate
that the new optimizer was made with: what was divided by a hundred is not any more.

Fix: load both states, the optimizer's first.
Source: pytorch/pytorch#29697.
"""

import torch

from ftlab.faults.builders import Case, Fault, adamw, loop_case, lora

DROP, MADE = 4, 9


def build(fixed: bool) -> Case:
    """Train past two drops of the rate, and go on with new objects."""
    model = lora()
    kind = torch.optim.lr_scheduler.StepLR
    before = adamw(model, lr=1e-2)
    stairs = kind(before, DROP, gamma=0.1)
    loop_case(model, before, scheduler=stairs).run(MADE)
    optimizer = adamw(model, lr=1e-2)
    scheduler = kind(optimizer, DROP, gamma=0.1)
    if fixed:
        optimizer.load_state_dict(before.state_dict())
    scheduler.load_state_dict(stairs.state_dict())
    return loop_case(model, optimizer, scheduler=scheduler)


FAULT = Fault(
    "the loss jumps after a resume, and the rate is what it was at the beginning",
    code="OPT016",
    places=("optimizer lr",),
    evident=2,
    also=("ADP027",),
)
