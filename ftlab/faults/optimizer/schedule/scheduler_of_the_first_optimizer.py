"""The optimizer is built anew for the adapter; the scheduler keeps the old one.

``scheduler.get_last_lr()`` falls as planned. It is the rate of an optimizer that never
steps; the one that does keeps the rate that it began with.

Fix: build the scheduler after the optimizer, from the one that is stepped.
Source: seen in hand-written loops that add the adapter late.
"""

import warnings

import torch

from ftlab.faults.builders import Case, Fault, adamw, base, lora, updated_by

STEPS = 12


def build(fixed: bool) -> Case:
    """Build a linear decay for the optimizer of the base, or of the adapter."""
    whole = base()
    before = torch.optim.AdamW(whole.parameters(), lr=3e-3)
    model = lora(whole)
    optimizer = adamw(model, lr=3e-3)
    scheduler = torch.optim.lr_scheduler.LinearLR(
        optimizer if fixed else before, 1.0, 0.05, STEPS
    )

    def update() -> None:
        optimizer.step()
        with warnings.catch_warnings(action="ignore"):
            scheduler.step()

    return updated_by(update, model, optimizer, scheduler=scheduler)


FAULT = Fault(
    "the logged learning rate decays, and training is as restless as at the start",
    code="OPT008",
    places=("call scheduler.step",),
    steps=STEPS,
    evident=3,
    families=("llama", "gpt2", "neox", "own"),
)
