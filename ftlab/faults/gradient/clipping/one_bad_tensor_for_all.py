"""One tensor's gradient is not a number, and clipping makes all of them so.

A term of the loss divides 0 by 0 for one parameter. The norm of all gradients is NaN,
and clipping multiplies every one of them by it.

Fix: ``clip_grad_norm_(..., error_if_nonfinite=True)``; leave the batch out.
Source: pytorch/pytorch#46849.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, adamw, lora, trainable, updated_by


def build(fixed: bool) -> Case:
    """Train LoRA with a penalty whose slope at 0 is not a number."""
    model = lora()
    optimizer = adamw(model)
    named = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    name, zero = next((n, p) for n, p in named if not p.any())

    def loss_of(batch: Any) -> torch.Tensor:
        penalty = (zero * zero).sum().sqrt()  # its slope at 0 is 0 / 0
        return model(**batch).loss + 1e-3 * penalty

    def update() -> None:
        sound = not fixed or all(p.grad.isfinite().all() for _, p in named)
        if sound:
            torch.nn.utils.clip_grad_norm_(trainable(model), 1.0)
            optimizer.step()
        else:
            with torch.no_grad():
                zero.fill_(1e-3)

    places = (f"param {name}",)
    return updated_by(update, model, optimizer, loss_of=loss_of, places=places)


FAULT = Fault(
    "all weights are NaN after one step, and the loss was finite",
    code="GRD016",
    places=("param *",),
    steps=3,
    also=("NUM001",),
    families=("llama", "gpt2", "neox", "own"),
)
