"""A GradScaler that starts too high.

It overflows, skips the update, halves its scale and settles. Infinite gradients and
skipped steps at the beginning are how it finds its scale.
"""

from typing import Any

import torch

from ftlab.faults.builders.tiny import adamw, batches, lora
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Build LoRA under fp16 autocast with a large initial scale and a scheduler."""
    model = lora(target_modules="all-linear", modules_to_save=["lm_head"])
    optimizer = adamw(model)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**24, growth_interval=1000)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.99**step)

    def step(batch: Any) -> float:
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = model(**batch).loss
        scaler.scale(loss).backward()
        before = scaler.get_scale()
        scaler.step(optimizer)
        scaler.update()
        if scaler.get_scale() >= before:
            scheduler.step()
        return float(loss.detach())

    return Case(model, optimizer, batches(), step, scheduler, scaler)


HEALTHY = Healthy(
    "grad-scaler-first-skips",
    "infinite gradients and skipped updates at the beginning",
    looks_like=("NUM001", "GRD002", "ADP001", "OPT003"),
)
