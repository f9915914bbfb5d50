"""LoRA under SGD with momentum, at a learning rate of 1.

SGD needs a learning rate a thousand times that of Adam: B starts at 0, so gradients of
A are tiny at first.
"""

import torch

from ftlab.faults.builders import Case, Healthy, loop_case, lora, trainable


def build() -> Case:
    """Build LoRA under SGD, with a learning rate that restarts."""
    model = lora()
    optimizer = torch.optim.SGD(trainable(model), lr=1.0, momentum=0.9)
    schedule = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 40)
    return loop_case(model, optimizer, scheduler=schedule)


HEALTHY = Healthy(
    "a learning rate of 1.0 that jumps up every 40 steps",
    looks_like=("GRD002", "GRD001", "OPT003"),
)
