"""ReduceLROnPlateau whose ``min_lr`` lies above the learning rate.

What it would set is the larger one of the cut rate and the floor: it cuts nothing.

Fix: a ``min_lr`` below the rate.
Source: seed; torch.optim.lr_scheduler, ReduceLROnPlateau.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, adamw, batches, lora, plain_step

EVERY = 2


def build(fixed: bool) -> Case:
    """Build LoRA whose rate shall be cut at each plateau."""
    model = lora()
    optimizer = adamw(model, lr=2e-3)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(
        optimizer, patience=0, threshold=0.5, min_lr=1e-5 if fixed else 1e-2
    )
    train = plain_step(model, optimizer)

    def step(batch: Any) -> float:
        loss = train(batch)
        if len(case.losses) % EVERY == EVERY - 1:
            scheduler.step(loss)
        return loss

    case = Case(model, optimizer, batches()[:1], step, scheduler=scheduler)
    return case


FAULT = Fault(
    "the metric stands still, and the rate is never lowered",
    code="OPT029",
    places=("config min_lr",),
    steps=10,
    evident=5,
    families=("llama", "gpt2", "neox", "own"),
)
