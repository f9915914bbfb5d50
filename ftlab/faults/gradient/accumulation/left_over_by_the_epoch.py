"""14 micro-batches an epoch, four to an update: two are carried into the next epoch.

``if (i + 1) % 4 == 0`` begins to count anew with each epoch, and what is left at its
end is neither stepped nor cleared: the next update is made of six, divided by four.

Fix: step at the end of the epoch as well, divided by what is there.
Source: Lightning-AI/pytorch-lightning#19987 (the last micro-batches of an epoch).
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, batches, lora, trainable

MICRO, EPOCH = 4, 14


def build(fixed: bool) -> Case:
    """Train LoRA under SGD; a step of the case is an epoch."""
    model = lora()
    optimizer = torch.optim.SGD(trainable(model), lr=0.5)

    def step(epoch: Any) -> float:
        total = 0.0
        for index, batch in enumerate(epoch):
            many = min(MICRO, EPOCH - index // MICRO * MICRO) if fixed else MICRO
            loss = model(**batch).loss / many
            loss.backward()
            total += float(loss.detach())
            if (index + 1) % MICRO == 0 or (fixed and index + 1 == EPOCH):
                optimizer.step()
                optimizer.zero_grad()
        return total

    return Case(model, optimizer, [batches(EPOCH, size=2)], step)


FAULT = Fault(
    "the first update of each epoch is half as large again as the others",
    code="GRD017",
    places=("call loss.backward",),
    steps=3,
    evident=3,
    families=("llama", "gpt2", "neox", "own"),
)
