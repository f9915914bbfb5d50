"""The last steps are made in float32: the loop itself leaves autocast out.

Some parts are in float32 from the beginning, by autocast that is switched off there.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, adamw, batches, lora
from ftlab.faults.builders.blocks import blocks

MIXED = 3
"""Steps in mixed precision."""


def build() -> Case:
    """Build LoRA whose last block is in full precision, and later all of it."""
    model = lora()
    last = blocks(model)[-1]
    last.forward = torch.autocast("cpu", enabled=False)(last.forward)
    optimizer = adamw(model)
    done: list[float] = []

    def step(batch: Any) -> float:
        optimizer.zero_grad()
        mixed = len(done) < MIXED
        with torch.autocast("cpu", torch.bfloat16, enabled=mixed):
            loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        done.append(float(loss.detach()))
        return done[-1]

    return Case(model, optimizer, batches(), step)


HEALTHY = Healthy(
    "autocast is on at the first steps and off at the last ones",
    looks_like=("MOD026",),
)
