"""fp16 autocast without a GradScaler, and a loss that is a small number.

The mean over many terms, or a small weight, makes gradients below 6e-8: in float16 they
are 0. Half of an adapter's gradients are lost, and nothing is raised.

Fix: ``torch.amp.GradScaler``.
Source: arXiv:1710.03740 (loss scaling); torch.amp, "Gradient Scaling".
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, adamw, base, batches, lora, scaled_step


def build(fixed: bool) -> Case:
    """Build LoRA on every linear layer with a loss of weight 0.0003."""
    model = lora(base(), target_modules="all-linear")
    optimizer = adamw(model)
    scaler = torch.amp.GradScaler("cpu", enabled=fixed)

    def loss_of(batch: Any) -> torch.Tensor:
        with torch.autocast("cpu", dtype=torch.float16):
            return 3e-4 * model(**batch).loss

    step = scaled_step(loss_of, optimizer, scaler)
    return Case(model, optimizer, batches(), step, scaler=scaler if fixed else None)


FAULT = Fault(
    "the loss stops falling where bf16 and float32 go on",
    code="NUM011",
    places=("call GradScaler.scale",),
    steps=9,
    evident=4,
)
