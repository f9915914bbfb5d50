"""scheduler.step() in the loop over micro-batches.

With four micro-batches per update the schedule runs four times too fast: the learning
rate is 0 after a quarter of the run, and the rest of it trains nothing.

Fix: step the scheduler once per optimizer step.
Source: huggingface/accelerate#963, Lightning-AI/pytorch-lightning#1476 and many more.
"""

import warnings
from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, adamw, lora, micro_batches

MICRO, STEPS = 4, 8


def build(fixed: bool) -> Case:
    """Build a linear decay to 0 over eight optimizer steps."""
    model = lora()
    optimizer = adamw(model, lr=1e-2)
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: max(0.0, 1 - step / STEPS)
    )

    def step(group: Any) -> float:
        optimizer.zero_grad()
        total = 0.0
        for batch in group:
            loss = model(**batch).loss / MICRO
            loss.backward()
            total += float(loss.detach())
            if not fixed:
                with warnings.catch_warnings(action="ignore"):
                    scheduler.step()
        optimizer.step()
        if fixed:
            scheduler.step()
        return total

    groups = micro_batches(MICRO)
    return Case(model, optimizer, groups, step, scheduler=scheduler)


FAULT = Fault(
    "the learning rate is 0 after a quarter of the run",
    code="OPT003",
    places=("call scheduler.step",),
    steps=STEPS,
    evident=1,
)
