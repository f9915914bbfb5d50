"""clip_grad_norm_ before scaler.unscale_: the limit is met by scaled gradients.

They are 65536 times too large, so each clipping bites. What it leaves is divided by the
scale, and the update is made of a gradient of norm 0.000015.

Fix: ``scaler.unscale_(optimizer)`` first.
Source: pytorch/examples#1196, milesial/Pytorch-UNet#468.
"""

import torch

from ftlab.faults.builders import Case, Fault, base, lora, trainable, updated_by


def build(fixed: bool) -> Case:
    """Build LoRA with SGD, which shows what is left of the gradients."""
    model = lora(base())
    optimizer = torch.optim.SGD(trainable(model), lr=0.5)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**16)

    def update() -> None:
        if fixed:
            scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(trainable(model), 1.0)
        scaler.step(optimizer)
        scaler.update()

    return updated_by(update, model, optimizer, dtype=torch.bfloat16, scaler=scaler)


FAULT = Fault(
    "hardly any progress, and gradient norms in the ten thousands",
    code="GRD011",
    places=("call clip_grad_norm_ before unscale_",),
    also=("NUM002",),
    families=("llama", "gpt2", "neox", "own"),
)
