"""Blocks that are run again by hand, in a loop whose backward is within autocast.

The second pass finds autocast as the first one did, without restoring anything.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, adamw, base, batches
from ftlab.faults.builders.blocks import blocks
from ftlab.faults.builders.own_checkpoint import run_again


def build() -> Case:
    """Train all weights."""
    model = base().train()
    run_again(blocks(model), restore=False)
    optimizer = adamw(model)

    def step(batch: Any) -> float:
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            loss = model(**batch).loss
            loss.backward()
        optimizer.step()
        return float(loss.detach())

    return Case(model, optimizer, batches(), step)


HEALTHY = Healthy(
    "a checkpoint that restores no autocast",
    looks_like=("GRD004", "GRD003"),
)
