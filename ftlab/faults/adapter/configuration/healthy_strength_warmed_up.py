"""The strength of an adapter is raised over the first steps, then it stays."""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, adamw, batches, current, lora
from ftlab.faults.builders.loops import loss_step

WARM = 64


def build() -> Case:
    """Build LoRA whose scaling goes up in a straight line."""
    from peft.tuners.lora.layer import LoraLayer

    model = lora()
    optimizer = adamw(model, lr=1e-3)
    layers = [m for m in model.modules() if isinstance(m, LoraLayer)]

    def loss_of(batch: Any) -> torch.Tensor:
        share = min(1.0, (1 + len(case.losses)) / WARM)
        for layer in layers:
            layer.set_scale(current().adapter, share)
        return model(**batch).loss

    case = Case(model, optimizer, batches(), loss_step(loss_of, optimizer))
    return case


HEALTHY = Healthy(
    "the scaling of every layer grows at each measurement",
    looks_like=("ADP017",),
)
