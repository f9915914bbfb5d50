"""ReduceLROnPlateau beside a warm-up that is stepped for ever.

LambdaLR computes the rate from the base rate: behind its warm-up it writes the full
rate in each step, and what the plateau's scheduler has cut holds for one update.

Fix: step the warm-up while it lasts.
Source: seed; torch.optim.lr_scheduler, LambdaLR's closed form.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, adamw, batches, lora, plain_step

WARMUP, EVERY = 2, 2


def build(fixed: bool) -> Case:
    """Build LoRA with two schedules, of which ftlab is given the second one."""
    model = lora()
    optimizer = adamw(model, lr=2e-3)
    schedulers = torch.optim.lr_scheduler
    warmup = schedulers.LambdaLR(optimizer, lambda n: min(1.0, (n + 1) / WARMUP))
    plateau = schedulers.ReduceLROnPlateau(
        optimizer, factor=0.5, patience=0, threshold=0.5
    )
    train = plain_step(model, optimizer)

    def step(batch: Any) -> float:
        loss = train(batch)
        done = len(case.losses) + 1
        if not fixed or done < WARMUP:
            warmup.step()
        if done % EVERY == 0:
            plateau.step(loss)
        return loss

    case = Case(model, optimizer, batches()[:1], step, scheduler=plateau)
    return case


FAULT = Fault(
    "the scheduler says that it lowers the rate, and the rate stays as it is",
    code="OPT015",
    places=("call ReduceLROnPlateau",),
    steps=12,
    evident=6,
    families=("llama", "gpt2", "neox", "own"),
)
