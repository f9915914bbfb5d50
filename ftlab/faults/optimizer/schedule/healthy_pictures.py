"""A ViT that classifies pictures, under SGD with momentum and label smoothing.

The loss cannot go to 0, for smoothed labels have an entropy; the token for the class
and the positions have gradients unlike all other ones.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, loop_case, pictures, trainable, vit


def build() -> Case:
    """Build a ViT with a one-cycle schedule, which turns the momentum as well."""
    model = vit()
    optimizer = torch.optim.SGD(trainable(model), lr=0.05, momentum=0.9, nesterov=True)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.05, total_steps=201)
    criterion = torch.nn.CrossEntropyLoss(label_smoothing=0.1)

    def loss_of(batch: Any) -> torch.Tensor:
        logits = model(pixel_values=batch["pixel_values"]).logits
        return criterion(logits, batch["labels"])

    return loop_case(model, optimizer, pictures(), loss_of=loss_of, scheduler=scheduler)


HEALTHY = Healthy(
    "the loss stays well above 0, learning rate and momentum change at each step",
    looks_like=("OPT003", "GRD001"),
)
