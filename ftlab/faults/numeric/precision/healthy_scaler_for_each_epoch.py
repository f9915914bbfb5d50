"""fp16 with a new GradScaler in each epoch, and one of its own for each optimizer.

Both skip the first updates of an epoch until they have found their scale again, and
each is updated after its own optimizer's step.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, base, batches, lora, trainable

EPOCH = 12
"""Steps of an epoch."""


def build() -> Case:
    """Build LoRA whose halves learn from the two halves of each batch."""
    model = lora(base())
    parts = trainable(model)[::2], trainable(model)[1::2]
    optimizers = [torch.optim.AdamW(part, lr=1e-3) for part in parts]
    scalers: list[torch.amp.GradScaler] = []
    steps = 0

    def step(batch: Any) -> float:
        nonlocal steps
        if steps % EPOCH == 0:
            scalers[:] = [
                torch.amp.GradScaler("cpu", init_scale=2.0**20) for _ in optimizers
            ]
        steps += 1
        total = 0.0
        for half, (optimizer, scaler) in enumerate(
            zip(optimizers, scalers, strict=True)
        ):
            model.zero_grad()
            with torch.autocast("cpu", dtype=torch.float16):
                loss = model(**{k: v[half::2] for k, v in batch.items()}).loss
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            total += float(loss.detach())
        return total / 2

    return Case(model, optimizers, batches(), step)


HEALTHY = Healthy(
    "skipped updates at a scale that comes back, and an update after each optimizer",
    looks_like=("NUM004", "NUM006"),
    steps=48,
)
