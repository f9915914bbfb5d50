"""A Phi whose gradients are clipped at every step, on purpose.

The norm that they are clipped to is far below their own, so that every update is as
large as the other ones: the learning rate is chosen for that.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, loop_case, lora, phi


def build() -> Case:
    """Build LoRA on a Phi under SGD, clipped to a norm of 0.05."""
    model = lora(phi(), target_modules="all-linear")
    weights = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(weights, lr=5.0)

    def loss_of(batch: Any) -> torch.Tensor:
        return model(**batch).loss

    return loop_case(model, optimizer, loss_of=loss_of, clip=0.05)


HEALTHY = Healthy(
    "every gradient is clipped, to a fraction of its norm",
    looks_like=("GRD001", "GRD002"),
)
