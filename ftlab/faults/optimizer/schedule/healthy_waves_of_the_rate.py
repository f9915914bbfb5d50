"""A CosineAnnealingLR that is used as a wave: down and up, again and again.

Torch defines it with a period of twice ``T_max``; one step of each has a rate of 0.
"""

import torch

from ftlab.faults.builders import Case, Healthy, adamw, loop_case, lora


def build() -> Case:
    """Build LoRA under a wave of twenty steps."""
    model = lora()
    optimizer = adamw(model, lr=5e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=10)
    return loop_case(model, optimizer, scheduler=scheduler)


HEALTHY = Healthy(
    "a rate that is 0 again and again, and rises behind its T_max",
    looks_like=("OPT011", "OPT016"),
    steps=60,
)
