"""A GradScaler that tries a larger scale after each update.

With ``growth_interval=1`` the scale is doubled until it overflows, halved, and doubled
again: half of all updates are skipped, for as long as training lasts.

Fix: ``growth_interval=2000``, the default.
Source: torch.amp.GradScaler (growth_interval), NVIDIA/apex#864 (one in 2000).
"""

import torch

from ftlab.faults.builders import Case, Fault, adamw, base, batches, lora
from ftlab.faults.builders.loops import cast_loss, scaled_step


def build(fixed: bool) -> Case:
    """Build LoRA under fp16 autocast with a scale that has found its place."""
    model = lora(base())
    optimizer = adamw(model)
    interval = 2000 if fixed else 1
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**16, growth_interval=interval)
    step = scaled_step(cast_loss(model, torch.float16), optimizer, scaler)
    return Case(model, optimizer, batches(), step, scaler=scaler)


FAULT = Fault(
    "every second update is skipped",
    code="NUM004",
    places=("call GradScaler.update",),
    steps=24,
    evident=20,
)
