"""Micro-batches of 10 and of 30 labels count the same.

Each mean is divided by the number of micro-batches: a token of the short one weighs
three times as much as one of the long one.

Fix: divide the sum of the losses by the labels of the whole update.
Source: huggingface/transformers#37766.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, backwards, batches, lora, trainable


def build(fixed: bool) -> Case:
    """Train LoRA under SGD with a short and a long micro-batch per update."""
    model = lora()
    optimizer = torch.optim.SGD(trainable(model), lr=1.0)

    def step(group: Any) -> float:
        optimizer.zero_grad()
        labels = [batch["labels"][:, 1:].numel() for batch in group]
        shares = [n / sum(labels) if fixed else 1 / len(group) for n in labels]
        pairs = zip(group, shares, strict=True)
        total = backwards(model(**batch).loss * share for batch, share in pairs)
        optimizer.step()
        return total

    short, long = batches(4, size=2, length=6), batches(4, size=2, seed=1)
    return Case(model, optimizer, [*zip(short, long, strict=True)], step)


FAULT = Fault(
    "accumulation gives another gradient than one large batch",
    code="GRD018",
    places=("call loss.backward",),
    steps=5,
    evident=2,
    families=("llama", "gpt2", "neox", "own"),
)
