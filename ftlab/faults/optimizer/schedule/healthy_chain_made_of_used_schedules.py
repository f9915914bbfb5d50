"""A chain of schedulers whose warm-up the loop steps itself before the chain exists.

A trial of the first updates steps the warm-up by hand; then it goes on within a
ChainedScheduler, which steps it from there on.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, adamw, batches, loop_with, lora

TRIAL, WARMUP = 6, 12


def build() -> Case:
    """Build LoRA whose warm-up is stepped alone first, and by a chain afterwards."""
    model = lora()
    optimizer = adamw(model, lr=5e-3)
    schedulers = torch.optim.lr_scheduler
    warmup = schedulers.LinearLR(optimizer, 0.1, total_iters=WARMUP)
    chains: list[Any] = []

    def after(done: int) -> None:
        if done == TRIAL:
            decay = schedulers.ExponentialLR(optimizer, 0.99)
            chains.append(schedulers.ChainedScheduler([warmup, decay], optimizer))
        (chains or [warmup])[0].step()

    return loop_with(model, optimizer, batches(), after=after, scheduler=warmup)


HEALTHY = Healthy(
    "a chain and a scheduler that it holds are both stepped by the loop",
    looks_like=("OPT003", "OPT015", "OPT016"),
    steps=40,
)
