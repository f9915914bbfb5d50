"""An adapter is merged at 0.7 of its strength, on purpose, into a base in bf16."""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, base, folder, lora, plain_case
from ftlab.faults.builders.hand_merges import exported, right

STRENGTH = 0.7


def build() -> Case:
    """Build a LoRA run that ends with an export."""
    model = lora(base().to(torch.bfloat16))
    path = folder(model)

    def export() -> None:
        exported(model, _weakened, path)

    return plain_case(model, lr=5e-3, afterwards=export)


def _weakened(layer: Any, adapter: str) -> torch.Tensor:
    return STRENGTH * right(layer, adapter)


HEALTHY = Healthy(
    "base weights hold another multiple of the adapter than 1",
    looks_like=("ADP009",),
    steps=20,
)
