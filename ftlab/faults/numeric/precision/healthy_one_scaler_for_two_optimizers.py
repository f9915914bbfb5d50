"""Two optimizers and two losses, one scaler: what torch's documentation shows.

One of the losses is divided, the other a sum of two; both optimizers are unscaled and
clipped, and the scale is updated once. The first update is skipped.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, base, batches, lora, trainable


def build() -> Case:
    """Build LoRA whose halves are held by two optimizers."""
    model = lora(base())
    parts = trainable(model)[::2], trainable(model)[1::2]
    optimizers = [torch.optim.AdamW(part, lr=1e-3) for part in parts]
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**20, growth_interval=50)

    def step(batch: Any) -> float:
        for optimizer in optimizers:
            optimizer.zero_grad()
        halves = [{k: v[half::2] for k, v in batch.items()} for half in (0, 1)]
        with torch.autocast("cpu", dtype=torch.float16):
            first, second = [model(**half).loss for half in halves]
        (scaler.scale(first) / 2).backward(retain_graph=True)
        (scaler.scale(second) + 0.1 * scaler.scale(first)).backward()
        for optimizer, part in zip(optimizers, parts, strict=True):
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(part, 1.0)
            scaler.step(optimizer)
        scaler.update()
        return float(first.detach())

    return Case(model, optimizers, batches(), step, scaler=scaler)


HEALTHY = Healthy(
    "losses that are scaled, divided and added up",
    looks_like=("NUM004", "GRD011", "NUM006"),
    steps=60,
)
