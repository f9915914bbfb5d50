"""Warm restarts of a cosine, over groups with rates of their own.

The rate jumps from almost 0 to its peak, more seldom each time, and lower layers have a
tenth of what upper ones have.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, loop_case, lora


def build() -> Case:
    """Build LoRA with a rate for each layer, under warm restarts."""
    model = lora()
    lower: list[torch.Tensor] = []
    upper: list[torch.Tensor] = []
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            (lower if ".0." in name else upper).append(parameter)
    groups: list[dict[str, Any]] = [{"params": lower, "lr": 5e-4}, {"params": upper}]
    optimizer = torch.optim.AdamW(groups, lr=5e-3)
    restarts = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts
    scheduler = restarts(optimizer, T_0=8, T_mult=2)
    return loop_case(model, optimizer, scheduler=scheduler)


HEALTHY = Healthy(
    "a rate that falls to almost 0 and jumps back, again and again",
    looks_like=("OPT003", "OPT011", "OPT015", "OPT016"),
    steps=80,
)
