"""A LambdaLR whose function returns a rate.

What the function returns is multiplied with the rate of the optimizer: 1e-3 becomes
1e-6, and the loss does not move.

Fix: return a factor; 1 is the optimizer's rate.
Source: the documentation of LambdaLR, which says "multiplicative factor".
"""

import torch

from ftlab.faults.builders import Case, Fault, adamw, batches, lora, plain_step

RATE, STEPS = 1e-3, 100


def build(fixed: bool) -> Case:
    """Build LoRA under a line that falls from the rate, or from 1."""
    model = lora()
    optimizer = adamw(model, lr=RATE)
    height = 1.0 if fixed else RATE
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: height * (1 - step / STEPS)
    )
    step = plain_step(model, optimizer, scheduler)
    return Case(model, optimizer, batches(), step, scheduler=scheduler)


FAULT = Fault(
    "a rate that is a thousand times smaller than what was asked for",
    code="OPT016",
    places=("optimizer lr",),
    evident=2,
)
