"""An adapter kept in bf16 at an ordinary learning rate.

lora_A's weights are small, so bf16 still holds the updates; B starts at 0, where any
update can be stored.
"""

import torch

from ftlab.faults.builders import Case, Healthy, llama, lora, plain_case


def build() -> Case:
    """Build LoRA all in bf16."""
    model = lora(llama().to(torch.bfloat16)).to(torch.bfloat16)
    return plain_case(model, lr=1e-3)


HEALTHY = Healthy(
    "trained weights in bf16",
    looks_like=("NUM002",),
)
