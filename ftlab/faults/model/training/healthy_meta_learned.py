"""Reptile: tasks in turn, each from the same weights, which then move towards them."""

from typing import Any

import torch

from ftlab.faults.builders.copies import copied, put
from ftlab.faults.builders.loops import plain_step
from ftlab.faults.builders.tiny import adamw, base, batches, trainable
from ftlab.faults.fault import Case, Healthy

INNER, TASKS = 2, 3
"""Steps of a task, and tasks before the weights that all begin from are moved."""


def build() -> Case:
    """Train all weights with one optimizer, which keeps its moments."""
    model = base()
    optimizer = adamw(model, betas=(0.0, 0.999))
    train = plain_step(model, optimizer)
    start, ends = copied(model), copied(model)
    torch._foreach_zero_(ends)

    def step(batch: Any) -> float:
        loss = train(batch)
        done = len(case.losses) + 1
        if done % INNER == 0:
            now = trainable(model)
            for end, weight, begin in zip(ends, now, start, strict=True):
                end += (weight.detach() - begin) / TASKS
            if done % (INNER * TASKS) == 0:
                torch._foreach_add_(start, ends, alpha=0.5)
                torch._foreach_zero_(ends)
            put(model, start)
        return loss

    case = Case(model, optimizer, batches(), step)
    return case


HEALTHY = Healthy(
    "meta-learned",
    "the weights go back after each task",
    looks_like=("MOD012",),
    steps=60,
)
