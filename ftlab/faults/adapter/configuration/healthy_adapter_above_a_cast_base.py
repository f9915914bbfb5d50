"""LoRA in float32 on a base in bf16, at a small learning rate."""

import torch

from ftlab.faults.builders import Case, Healthy, llama, lora, plain_case


def build() -> Case:
    """Build it in the order that keeps the adapter in float32."""
    model = lora(llama().to(torch.bfloat16))
    return plain_case(model, lr=1e-5)


HEALTHY = Healthy(
    "the adapter is in another dtype than the model, and moves by very little",
    looks_like=("ADP019", "NUM002"),
    steps=60,
)
