"""Anomaly detection was switched on to look for a NaN, and never off again.

Each operation keeps the stack that it was called from, and each gradient is searched.

Fix: leave it out; `ftlab.debug` names the operation without it.
Source: PyTorch, `torch.autograd.set_detect_anomaly`.
"""

import contextlib
from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, adamw, batches, lora, plain_step


def build(fixed: bool) -> Case:
    """Train with anomaly detection, or without."""
    model = lora()
    optimizer = adamw(model)
    train = plain_step(model, optimizer)

    def step(batch: Any) -> float:
        within = contextlib.nullcontext() if fixed else torch.autograd.detect_anomaly()
        with within:
            return train(batch)

    return Case(model, optimizer, batches(), step)


FAULT = Fault(
    "each step takes twice as long as last week",
    code="TIM003",
    places=("call torch.autograd.set_detect_anomaly",),
    steps=20,
    evident=12,
)
