"""A warm-up that a cosine makes: its ``eta_min`` is the peak, above where it begins.

It is the first part of a SequentialLR; a line comes down from the peak.
"""

import torch

from ftlab.faults.builders import Case, Healthy, adamw, batches, lora, plain_step

WARMUP, STEPS = 6, 40
LOW, PEAK = 5e-4, 5e-3


def build() -> Case:
    """Build LoRA whose rate rises along a cosine and falls along a line."""
    model = lora()
    optimizer = adamw(model, lr=LOW)
    schedulers = torch.optim.lr_scheduler
    up = schedulers.CosineAnnealingLR(optimizer, WARMUP, eta_min=PEAK)
    down = schedulers.LambdaLR(
        optimizer, lambda step: PEAK / LOW * (1 - step / (STEPS - WARMUP + 1))
    )
    chain = schedulers.SequentialLR(optimizer, [up, down], milestones=[WARMUP])
    step = plain_step(model, optimizer, chain)
    return Case(model, optimizer, batches(), step, scheduler=chain)


HEALTHY = Healthy(
    "an eta_min that lies above the learning rate",
    looks_like=("OPT029", "OPT003", "OPT011", "OPT016"),
    steps=STEPS,
)
