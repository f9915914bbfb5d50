"""fp16 with a GradScaler that tries a larger scale every ten steps.

It grows until a gradient overflows, skips that step, halves and grows again: skipped
steps come back for as long as training lasts. Gradients are accumulated and clipped.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, adamw, batches, lora, trainable
from ftlab.faults.builders.loops import backwards, cast_loss

MICRO = 2


def build() -> Case:
    """Build LoRA under fp16 autocast with two micro-batches per step."""
    model = lora(target_modules="all-linear")
    optimizer = adamw(model, lr=2e-3)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**20, growth_interval=10)
    loss_of, rows = cast_loss(model, torch.float16), batches(8, size=2)
    groups = [rows[index : index + MICRO] for index in range(0, 8, MICRO)]

    def step(group: Any) -> float:
        total = backwards((loss_of(batch) / MICRO for batch in group), scaler)
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(trainable(model), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        return total

    return Case(model, optimizer, groups, step, scaler=scaler)


HEALTHY = Healthy(
    "infinite gradients and skipped updates, again and again",
    looks_like=("NUM001", "GRD002", "GRD003"),
)
