"""The sum of all absolute values is limited to two, on purpose, under SGD.

All gradients are cut, to a seventh at most: the learning rate is chosen for that.
"""

import torch

from ftlab.faults.builders import Case, Healthy, lora, trainable, updated_by


def build() -> Case:
    """Build LoRA of a small rank, whose gradients have few elements."""
    model = lora(r=2)
    optimizer = torch.optim.SGD(trainable(model), lr=1.0)

    def update() -> None:
        torch.nn.utils.clip_grad_norm_(trainable(model), 2.0, norm_type=1.0)
        optimizer.step()

    return updated_by(update, model, optimizer)


HEALTHY = Healthy(
    "max_norm is 2 and norm_type 1, as if they were swapped",
    looks_like=("GRD015",),
    steps=60,
)
