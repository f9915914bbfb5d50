"""Test-time training: one step on each batch, an answer, and back to the beginning."""

import copy
from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, adamw, base, batches, plain_step


def build() -> Case:
    """Put model and optimizer back after each batch."""
    model = base()
    optimizer = adamw(model)
    train = plain_step(model, optimizer)
    first = copy.deepcopy(model.state_dict())
    states = copy.deepcopy(optimizer.state_dict())

    def step(batch: Any) -> float:
        loss = train(batch)
        with torch.no_grad():
            model(**batch)
        model.load_state_dict(first)
        optimizer.load_state_dict(states)
        return loss

    return Case(model, optimizer, batches(), step)


HEALTHY = Healthy(
    "every update is undone before the next one",
    looks_like=("MOD012", "NUM003", "ADP027"),
    steps=24,
)
