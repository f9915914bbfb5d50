"""A new optimizer for every epoch: its moments are thrown away each time.

The optimizer is made within the loop over epochs, or in the function that trains one.
Its moments and its step count begin at 0: each epoch begins with steps of the full
learning rate in the direction of single gradients, and no schedule warms them up.

Fix: make the optimizer once, before the loop.
Source: alan-turing-institute/deepsensor#47.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, adamw, batches, lora

EPOCH = 4


def build(fixed: bool) -> Case:
    """Make the optimizer once, or every four steps."""
    model = lora()
    optimizers = [adamw(model)]
    steps = 0

    def step(batch: Any) -> float:
        nonlocal steps
        if steps and steps % EPOCH == 0 and not fixed:
            optimizers[0] = adamw(model)
        steps += 1
        optimizers[0].zero_grad()
        loss: torch.Tensor = model(**batch).loss
        loss.backward()
        optimizers[0].step()
        return float(loss.detach())

    return Case(model, optimizers[0], batches(), step)


FAULT = Fault(
    "each epoch begins with an optimizer that knows nothing",
    code="OPT023",
    places=("optimizer state",),
    steps=16,
    evident=12,
    families=("llama", "gpt2", "neox", "own"),
)
