"""Adaptive clipping: each tensor's gradient is held to a share of its weights' norm.

It is written by hand, as its authors do, tensor by tensor; afterwards the norm is read
with a limit that nothing reaches.
"""

import torch

from ftlab.faults.builders import Case, Healthy, lora, trainable, updated_by

SHARE, LEAST = 0.05, 1e-3


def build() -> Case:
    """Build LoRA under SGD with clipping of its own."""
    model = lora()
    weights = trainable(model)
    optimizer = torch.optim.SGD(weights, lr=1.0)

    def update() -> None:
        for weight in weights:
            if weight.grad is not None:
                limit = SHARE * weight.detach().norm().clamp_min(LEAST)
                norm = weight.grad.norm().clamp_min(1e-12)
                weight.grad.mul_((limit / norm).clamp_max(1))
        torch.nn.utils.clip_grad_norm_(weights, float("inf"))
        optimizer.step()

    return updated_by(update, model, optimizer)


HEALTHY = Healthy(
    "gradients change before the step, each tensor by its own factor",
    looks_like=("GRD013", "GRD011", "GRD016"),
    steps=60,
)
