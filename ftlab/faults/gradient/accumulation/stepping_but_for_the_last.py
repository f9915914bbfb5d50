"""The optimizer steps after all micro-batches but each fifth.

The condition of the step is turned round, ``if (i + 1) % 5:``, and every loss is
divided by five: nothing is accumulated, and most updates are a fifth of the mean.

Fix: ``if (i + 1) % 5 == 0:``.
Source: huggingface/accelerate#435, eriklindernoren/PyTorch-YOLOv3#325.
"""

from itertools import count
from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, batches, lora, trainable

MICRO = 5


def build(fixed: bool) -> Case:
    """Train LoRA under SGD on micro-batches that are counted in the loop."""
    model = lora()
    optimizer = torch.optim.SGD(trainable(model), lr=1.0)
    rows = batches(2 * MICRO, size=2)
    numbers = count()

    def is_due(number: int) -> bool:
        full = (number + 1) % MICRO == 0
        return full if fixed else not full

    def step(_: Any) -> float:
        total = 0.0
        for number in numbers:
            loss = model(**rows[number % len(rows)]).loss / MICRO
            loss.backward()
            total += float(loss.detach())
            if is_due(number):
                break
        optimizer.step()
        optimizer.zero_grad()
        return total

    return Case(model, optimizer, rows, step)


FAULT = Fault(
    "gradient accumulation changes nothing but the speed of learning",
    code="GRD017",
    places=("call optimizer.step",),
    steps=10,
    evident=8,
    families=("llama", "gpt2", "neox", "own"),
)
