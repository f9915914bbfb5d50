"""A factor that is meant for each epoch is applied at each update.

After 20 updates the rate is a millionth of what it was. The loss falls at first, and
then stays where it is.

Fix: ``scheduler.step()`` at the end of each epoch.
Source: torch.optim.lr_scheduler.ExponentialLR: "decays ... every epoch".
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, adamw, batches, lora
from ftlab.faults.builders.loops import plain_step


def build(fixed: bool) -> Case:
    """Step the scheduler with each batch, or after all of them."""
    model = lora()
    optimizer, data = adamw(model), batches()
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    step, done = plain_step(model, optimizer), 0

    def one(batch: Any) -> float:
        nonlocal done
        loss = step(batch)
        done += 1
        if not fixed or done % len(data) == 0:
            scheduler.step()
        return loss

    return Case(model, optimizer, data, one)


FAULT = Fault(
    "the loss falls for a few steps and never again",
    code="OPT005",
    places=("optimizer lr",),
    steps=44,
    evident=37,
    families=("llama", "gpt2", "neox", "own"),
)
