"""LoRA under Adam with a small weight decay: a penalty far below the gradient."""

import torch

from ftlab.faults.builders import Case, Healthy, loop_case, lora, trainable


def build() -> Case:
    """Train LoRA with Adam and a decay of 1e-4."""
    model = lora()
    optimizer = torch.optim.Adam(trainable(model), lr=1e-3, weight_decay=1e-4)
    return loop_case(model, optimizer)


HEALTHY = Healthy(
    "Adam adds its weight decay to the gradient, and it is small",
    looks_like=("OPT022", "ADP002"),
)
