"""A second stage goes on with the optimizer of the first, under a schedule of its own.

Its moments are kept, and the new schedule begins at 0, as it should.
"""

import torch

from ftlab.faults.builders import Case, Healthy, adamw, batches, lora
from ftlab.faults.builders.loops import loop_case, plain_step


def build() -> Case:
    """Train a first stage, and make a second schedule for the same optimizer."""
    model = lora()
    optimizer = adamw(model, lr=5e-3)
    first = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, total_iters=6)
    loop_case(model, optimizer, scheduler=first).run(6)
    second = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, (step + 1) / 4)
    )
    step = plain_step(model, optimizer, second)
    return Case(model, optimizer, batches(), step, scheduler=second)


HEALTHY = Healthy(
    "the optimizer is used, and the schedule stands at 0",
    looks_like=("ADP027", "OPT003", "OPT008"),
)
