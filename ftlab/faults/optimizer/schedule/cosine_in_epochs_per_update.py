"""A CosineAnnealingLR over four epochs that is stepped after each batch.

Behind its end the cosine goes up again: the rate is at its top every eight updates, and
at 0 between.

Fix: ``T_max=epochs * len(loader)``, or step once per epoch.
Source: ivadomed/ivadomed#55, #57 (stepped for each batch in place of each epoch).
"""

import torch

from ftlab.faults.builders import Case, Fault, adamw, batches, loop_case, lora

EPOCHS, LOADER = 4, 8


def build(fixed: bool) -> Case:
    """Build LoRA under a cosine over all updates, or over as many as epochs."""
    model = lora()
    optimizer = adamw(model, lr=5e-3)
    length = EPOCHS * LOADER if fixed else EPOCHS
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, length)
    return loop_case(model, optimizer, batches(LOADER), scheduler=scheduler)


FAULT = Fault(
    "the rate is a saw, and the loss goes up with it",
    code="OPT011",
    places=("config T_max",),
    steps=20,
    evident=15,
    families=("llama", "gpt2", "neox", "own"),
)
