"""Losses are written down in a thread that is started within `torch.no_grad()`."""

import threading
from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, adamw, batches, lora, plain_step


def build() -> Case:
    """Build a loop beside which a thread works that never calls the model."""
    model, told = lora(), [0.0]
    optimizer = adamw(model)
    train = plain_step(model, optimizer)

    def step(batch: Any) -> float:
        loss = train(batch)
        with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
            thread = threading.Thread(target=told.__setitem__, args=(0, loss))
            thread.start()
            thread.join()
        return loss

    return Case(model, optimizer, batches(), step)


HEALTHY = Healthy(
    "a thread runs without the settings of the one that has started it",
    looks_like=("ENV009",),
    steps=20,
)
