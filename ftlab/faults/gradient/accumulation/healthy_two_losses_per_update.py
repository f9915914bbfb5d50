"""Two losses of two forwards are added up by two backwards, under SGD.

One looks at the text and one at a part of it; nothing is accumulated, and the sum of
both is what is meant.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, batches, lora, trainable


def build() -> Case:
    """Build LoRA with two backwards per update."""
    model = lora()
    optimizer = torch.optim.SGD(trainable(model), lr=0.5)

    def step(batch: Any) -> float:
        optimizer.zero_grad()
        whole = model(**batch).loss
        whole.backward()
        part = model(**{name: rows[:, 6:] for name, rows in batch.items()}).loss
        part.backward()
        optimizer.step()
        return float(whole.detach())

    return Case(model, optimizer, batches(size=2), step)


HEALTHY = Healthy(
    "two backwards per update, and neither loss is divided",
    looks_like=("GRD017", "GRD018"),
    steps=60,
)
