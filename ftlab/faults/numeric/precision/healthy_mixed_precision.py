"""A bf16 base with float32 adapters under autocast: the usual set-up of LoRA."""

import torch

from ftlab.faults.builders import Case, Healthy, cast_loss, llama, lora, plain_case


def build() -> Case:
    """Build LoRA on a base in bf16."""
    model = lora(llama().to(torch.bfloat16))
    return plain_case(model, lr=2e-4, loss_of=cast_loss(model, torch.bfloat16))


HEALTHY = Healthy(
    "dtypes differ between base, adapters and activations",
    looks_like=("NUM002",),
)
