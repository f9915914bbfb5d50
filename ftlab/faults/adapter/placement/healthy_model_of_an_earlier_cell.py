"""A cell was run again, and the model of the first time is still in a variable.

Both are on one base, and the adapter is that of the second. The old one is called once
more to look at a loss, and is never trained.
"""

import warnings
from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, adamw, base, batches, lora, plain_step


def build() -> Case:
    """Put the same adapter on a base twice, and train the second model."""
    shared = base()
    old = lora(shared)
    with warnings.catch_warnings(action="ignore"):
        model = lora(shared)
    optimizer = adamw(model, lr=5e-3)
    train = plain_step(model, optimizer)
    done: list[float] = []

    def step(batch: Any) -> float:
        if not done:
            with torch.no_grad():
                old(**batch)
        done.append(train(batch))
        return done[-1]

    return Case(model, optimizer, batches(), step)


HEALTHY = Healthy(
    "two PeftModels have the same base and own the same tensors",
    looks_like=("ADP014",),
)
