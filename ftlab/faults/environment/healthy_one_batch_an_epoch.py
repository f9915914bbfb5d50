"""A loop of accelerate whose loader has one batch, fewer than it shall gather.

At the end of a prepared loader accelerate steps with what it has: each update is made
of one backward, and its loss is divided all the same.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, adamw, batches, lora, rows_of


def build() -> Case:
    """Build a loop over a loader of one batch."""
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=4)
    bare = lora()
    rows: Any = rows_of(batches(1))
    loader = torch.utils.data.DataLoader(rows, batch_size=4)
    parts: Any = accelerator.prepare(bare, adamw(bare), loader)
    model, optimizer, prepared = parts

    def step(_: Any) -> float:
        total = 0.0
        for batch in prepared:
            with accelerator.accumulate(model):
                loss = model(**batch).loss
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
            total += float(loss.detach())
        return total

    return Case(model, optimizer, [None], step)


HEALTHY = Healthy(
    "each update is made of one backward where more were to be gathered",
    looks_like=("ENV007",),
    steps=12,
)
