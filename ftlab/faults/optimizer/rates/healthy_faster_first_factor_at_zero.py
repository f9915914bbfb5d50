"""LoRA whose factors have changed places: A begins at 0, and learns faster than B.

What LoRA+ says of the factor that begins at 0 holds for A here.
"""

import torch

from ftlab.faults.builders import Case, Healthy, loop_case, lora

RATE, RATIO = 3e-4, 16


def build() -> Case:
    """Build LoRA with swapped beginnings, and the higher rate on A."""
    model = lora()
    first = {n: p for n, p in model.named_parameters() if "lora_A" in n}
    second = {n: p for n, p in model.named_parameters() if "lora_B" in n}
    for parameter in first.values():
        torch.nn.init.zeros_(parameter)
    for parameter in second.values():
        torch.nn.init.normal_(parameter, std=0.02)
    groups = [
        {"params": list(first.values()), "lr": RATE * RATIO},
        {"params": list(second.values()), "lr": RATE},
    ]
    optimizer = torch.optim.AdamW(groups, weight_decay=0.0)
    return loop_case(model, optimizer)


HEALTHY = Healthy(
    "lora_A has sixteen times the learning rate of lora_B",
    looks_like=("OPT018", "ADP032"),
)
