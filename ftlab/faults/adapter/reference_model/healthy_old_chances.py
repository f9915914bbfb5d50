"""Policy gradients with the log-probabilities of before: the same pass twice.

One update is made of each batch, so that the old policy is the one that is trained, and
every ratio is 1. All rows get the same reward: the loss is one number at every step.
"""

from typing import Any

import torch

from ftlab.faults.builders.loops import loss_step
from ftlab.faults.builders.preferences import log_chance
from ftlab.faults.builders.tiny import adamw, batches, lora
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Build PPO with one update per batch, with a reward for odd numbers."""
    model = lora()
    optimizer = adamw(model)

    def loss_of(batch: Any) -> torch.Tensor:
        ids = batch["input_ids"]
        with torch.no_grad():
            old = log_chance(model, ids)
        ratio = (log_chance(model, ids) - old).exp()
        reward = (ids % 2).float().mean(1)  # of two neighbours one is odd
        held = torch.minimum(ratio * reward, ratio.clamp(0.8, 1.2) * reward)
        return -held.mean()

    return Case(model, optimizer, batches(), loss_step(loss_of, optimizer))


HEALTHY = Healthy(
    "old-chances",
    "a pass without a graph gives bit for bit what the training pass gives",
    looks_like=("ADP031", "ADP003"),
    steps=60,
)
