"""A bf16 base with float32 adapters under autocast: the usual set-up of LoRA."""

from typing import Any

import torch

from ftlab.faults.builders.tiny import adamw, batches, llama, lora
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Build LoRA on a base in bf16."""
    model = lora(llama().to(torch.bfloat16))
    optimizer = adamw(model, lr=2e-4)

    def step(batch: Any) -> float:
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        return float(loss.detach())

    return Case(model, optimizer, batches(), step)


HEALTHY = Healthy(
    "mixed-precision",
    "dtypes differ between base, adapters and activations",
    looks_like=("NUM002",),
    builder=build,
)
