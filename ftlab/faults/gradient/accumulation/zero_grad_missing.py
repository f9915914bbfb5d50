"""zero_grad is missing: each update is made from the sum of all gradients so far.

The loss falls at first, then it swings or climbs; the gradient norm grows with the
step. Smaller learning rates put it off.

Fix: ``optimizer.zero_grad()`` once per update.
Source: stackoverflow.com/q/60335387, TrainCheck SO-60335387.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, batches, lora, trainable


def build(fixed: bool) -> Case:
    """Build LoRA under plain SGD whose loop clears nothing."""
    model = lora()
    optimizer = torch.optim.SGD(trainable(model), lr=0.05)

    def step(batch: Any) -> float:
        if fixed:
            optimizer.zero_grad()
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        return float(loss.detach())

    return Case(model, optimizer, batches(), step)


FAULT = Fault(
    "the gradient norm grows with every step, and the loss begins to swing",
    code="GRD005",
    places=("call optimizer.zero_grad",),
    steps=12,
    evident=3,
    families=("llama", "gpt2", "neox", "own"),
    traincheck="SO-60335387",
)
