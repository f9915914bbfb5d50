"""Scaled gradients, clipped to a limit that is multiplied by the scale as well.

It comes to the same as clipping to 1 after unscaling. The scale grows on the way.
"""

import torch

from ftlab.faults.builders import Case, Healthy, adamw, base, lora, trainable
from ftlab.faults.builders.around import updated_by


def build() -> Case:
    """Build LoRA under fp16 autocast, clipped to 0.05 in true scale."""
    model = lora(base())
    optimizer = adamw(model)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**12, growth_interval=20)

    def update() -> None:
        limit = 0.05 * scaler.get_scale()
        torch.nn.utils.clip_grad_norm_(trainable(model), limit)
        scaler.step(optimizer)
        scaler.update()

    return updated_by(update, model, optimizer, dtype=torch.float16, scaler=scaler)


HEALTHY = Healthy(
    "clipped before unscale_",
    looks_like=("GRD011",),
    steps=60,
)
