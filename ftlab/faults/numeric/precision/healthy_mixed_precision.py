"""A bf16 base with float32 adapters under autocast: the usual set-up of LoRA."""

import torch

from ftlab.faults.builders import Case, Healthy, adamw, batches, llama, lora
from ftlab.faults.builders.loops import cast_loss, loss_step


def build() -> Case:
    """Build LoRA on a base in bf16."""
    model = lora(llama().to(torch.bfloat16))
    optimizer = adamw(model, lr=2e-4)
    step = loss_step(cast_loss(model, torch.bfloat16), optimizer)
    return Case(model, optimizer, batches(), step)


HEALTHY = Healthy(
    "dtypes differ between base, adapters and activations",
    looks_like=("NUM002",),
)
