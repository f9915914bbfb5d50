"""LoRA+: B learns sixteen times as fast as A, in parameter groups of its own."""

import torch

from ftlab.faults.builders import Case, Healthy, loop_case, lora


def build() -> Case:
    """Build LoRA with the optimizer of LoRA+."""
    from peft.optimizers import create_loraplus_optimizer

    model = lora()
    optimizer = create_loraplus_optimizer(
        model, torch.optim.AdamW, lr=3e-4, loraplus_lr_ratio=16, loraplus_weight_decay=0
    )
    return loop_case(model, optimizer)


HEALTHY = Healthy(
    "learning rates differ by a factor of 16 between groups, two groups are empty",
    looks_like=("ADP001", "ADP002", "OPT001"),
)
