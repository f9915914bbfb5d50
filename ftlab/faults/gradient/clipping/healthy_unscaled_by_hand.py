"""A loop that divides the gradients by the scale itself, clips and steps.

It needs the scaler for its scale only: overflows are looked for by hand.
"""

import torch

from ftlab.faults.builders import Case, Healthy, adamw, base, lora, trainable
from ftlab.faults.builders.around import updated_by


def build() -> Case:
    """Build LoRA under fp16 autocast."""
    model = lora(base())
    optimizer = adamw(model)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10)

    def update() -> None:
        for parameter in trainable(model):
            if parameter.grad is not None:
                parameter.grad.div_(scaler.get_scale())
        norm = torch.nn.utils.clip_grad_norm_(trainable(model), 0.5)
        if torch.isfinite(norm):
            optimizer.step()

    return updated_by(update, model, optimizer, dtype=torch.float16, scaler=scaler)


HEALTHY = Healthy(
    "scaled losses, and optimizer.step() without the scaler",
    looks_like=("GRD011", "NUM006"),
    steps=60,
)
