"""The losses of four micro-batches are added up and never divided.

``loss.backward()`` in the loop over micro-batches gives the sum of their mean
gradients: the learning rate of SGD is four times what it says.

Fix: ``(loss / micro_batches).backward()``.
Source: karpathy/nanoGPT#168, #206.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, lora, micro_batches, trainable

MICRO = 4


def build(fixed: bool) -> Case:
    """Train LoRA under SGD with four micro-batches per update."""
    model = lora()
    optimizer = torch.optim.SGD(trainable(model), lr=1.0)
    share = 1 / MICRO if fixed else 1.0

    def step(group: Any) -> float:
        optimizer.zero_grad()
        total = 0.0
        for batch in group:
            loss = model(**batch).loss
            (loss * share if fixed else loss).backward()
            total += float(loss.detach()) / MICRO
        optimizer.step()
        return total

    return Case(model, optimizer, micro_batches(MICRO), step)


FAULT = Fault(
    "the more micro-batches, the larger the gradient and the wilder the loss",
    code="GRD017",
    places=("call loss.backward",),
    steps=5,
    evident=2,
    families=("llama", "gpt2", "neox", "own"),
)
