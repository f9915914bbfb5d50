"""LoRA that begins with A at 0 and a random B, the other way round.

Their product is 0 as well, and nothing is disturbed.
"""

import torch

from ftlab.faults.builders import Case, Healthy, lora, plain_case


def build() -> Case:
    """Build a LoRA model and swap how its factors begin."""
    model = lora()
    for name, parameter in model.named_parameters():
        if "lora_A" in name:
            torch.nn.init.zeros_(parameter)
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.02)
    return plain_case(model)


HEALTHY = Healthy(
    "B is random at the first step",
    looks_like=("ADP032", "ADP001"),
)
