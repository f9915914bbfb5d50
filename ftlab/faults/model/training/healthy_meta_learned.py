"""Reptile: tasks in turn, each from the same weights, which then move towards them."""

import torch

from ftlab.faults.builders import Case, Healthy, adamw, base, batches, trainable
from ftlab.faults.builders.around import loop_with
from ftlab.faults.builders.copies import copied, put

INNER, TASKS = 2, 3
"""Steps of a task, and tasks before the weights that all begin from are moved."""


def build() -> Case:
    """Train all weights with one optimizer, which keeps its moments."""
    model = base()
    optimizer = adamw(model, betas=(0.0, 0.999))
    start, ends = copied(model), copied(model)
    torch._foreach_zero_(ends)

    def after(steps: int) -> None:
        done = steps + 1
        if done % INNER == 0:
            now = trainable(model)
            for end, weight, begin in zip(ends, now, start, strict=True):
                end += (weight.detach() - begin) / TASKS
            if done % (INNER * TASKS) == 0:
                torch._foreach_add_(start, ends, alpha=0.5)
                torch._foreach_zero_(ends)
            put(model, start)

    return loop_with(model, optimizer, batches(), after=after)


HEALTHY = Healthy(
    "the weights go back after each task",
    looks_like=("MOD012",),
    steps=60,
)
