"""scheduler.step() before optimizer.step().

The first value of the schedule is never used, and every update runs with the rate of
the next one. PyTorch warns once, and training goes on.

Fix: optimizer.step(), then scheduler.step().
Source: PyTorch's own warning.
"""

import warnings
from typing import Any

import torch

from ftlab.faults.builders.tiny import adamw, batches, lora
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Build a LoRA model with the two calls swapped."""
    model = lora()
    optimizer = adamw(model, lr=1e-2)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.9**step)

    def step(batch: Any) -> float:
        optimizer.zero_grad()
        loss = model(**batch).loss
        loss.backward()
        order = (optimizer, scheduler) if fixed else (scheduler, optimizer)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for each in order:
                each.step()
        return float(loss.detach())

    return Case(model, optimizer, batches(), step, scheduler=scheduler)


FAULT = Fault(
    "scheduler-before-optimizer",
    "the schedule is one step ahead of training",
    code="OPT003",
    places=("call scheduler.step before optimizer.step",),
    steps=8,
    evident=1,
)
