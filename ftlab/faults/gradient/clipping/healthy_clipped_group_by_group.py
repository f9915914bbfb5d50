"""Two groups of weights are clipped each to a limit of its own, under SGD.

The norm of all exceeds either limit, and the direction turns: so it is meant.
"""

import torch

from ftlab.faults.builders import Case, Healthy, lora, updated_by

LIMITS = (0.05, 0.02)


def build() -> Case:
    """Build LoRA whose factors have a limit and a rate of their own."""
    model = lora()
    named = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    firsts = [p for name, p in named if "lora_A" in name]
    seconds = [p for name, p in named if "lora_A" not in name]
    groups = [{"params": firsts, "lr": 1.0}, {"params": seconds, "lr": 2.0}]
    optimizer = torch.optim.SGD(groups)

    def update() -> None:
        for part, limit in zip((firsts, seconds), LIMITS, strict=True):
            torch.nn.utils.clip_grad_norm_(part, limit)
        optimizer.step()

    return updated_by(update, model, optimizer)


HEALTHY = Healthy(
    "the norm of all gradients is above the limit after clipping",
    looks_like=("GRD013",),
    steps=100,
)
