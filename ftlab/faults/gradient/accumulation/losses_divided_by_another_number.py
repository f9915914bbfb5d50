"""The loss is divided by eight, and four micro-batches make an update.

The number of micro-batches was lowered in the loop and not in the division.

Fix: divide by the number of backwards that this update is made of.
Source: Lightning-AI/pytorch-lightning#19987, hiyouga/LlamaFactory#10705, where it is so
for the last update of each epoch.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, backwards, lora, micro_batches, trainable

MICRO, BEFORE = 4, 8


def build(fixed: bool) -> Case:
    """Train LoRA under SGD with four micro-batches per update."""
    model = lora()
    optimizer = torch.optim.SGD(trainable(model), lr=1.0)

    def step(group: Any) -> float:
        optimizer.zero_grad()
        parts = MICRO if fixed else BEFORE
        total = backwards(model(**batch).loss / parts for batch in group)
        optimizer.step()
        return total

    return Case(model, optimizer, micro_batches(MICRO), step)


FAULT = Fault(
    "the same samples cut into fewer micro-batches teach less",
    code="GRD017",
    places=("call loss.backward",),
    steps=5,
    evident=2,
    families=("llama", "gpt2", "neox", "own"),
)
