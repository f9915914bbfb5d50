"""``ReduceLROnPlateau(optimizer, mode="max")``, stepped with the loss.

``mode`` was written for an accuracy; the loss falls, and so does the rate.

Fix: ``mode="min"``.
Source: the argument's order: ``ReduceLROnPlateau(optimizer, "max")`` is copied.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, adamw, batches, lora, plain_step


def build(fixed: bool) -> Case:
    """Build LoRA with a schedule that waits for a larger loss."""
    model = lora(modules_to_save=["lm_head"])
    optimizer = adamw(model, lr=1e-2)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(
        optimizer, "min" if fixed else "max", factor=0.5, patience=1
    )
    train = plain_step(model, optimizer)

    def step(batch: Any) -> float:
        loss = train(batch)
        scheduler.step(loss)
        return loss

    return Case(model, optimizer, batches()[:1], step, scheduler=scheduler)


FAULT = Fault(
    "the rate falls with the loss, and the run comes to a halt",
    code="OPT017",
    places=("config mode",),
    steps=8,
    evident=2,
    families=("llama",),
)
