"""Policy gradients with the log-probabilities of before: the same pass twice.

One update is made of each batch, so that the old policy is the one that is trained, and
every ratio is 1. All rows get the same reward: the loss is one number at every step.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, lora, plain_case
from ftlab.faults.builders.preferences import log_chance


def build() -> Case:
    """Build PPO with one update per batch, with a reward for odd numbers."""
    model = lora()

    def loss_of(batch: Any) -> torch.Tensor:
        ids = batch["input_ids"]
        with torch.no_grad():
            old = log_chance(model, ids)
        ratio = (log_chance(model, ids) - old).exp()
        reward = (ids % 2).float().mean(1)  # of two neighbours one is odd
        held = torch.minimum(ratio * reward, ratio.clamp(0.8, 1.2) * reward)
        return -held.mean()

    return plain_case(model, loss_of=loss_of)


HEALTHY = Healthy(
    "a pass without a graph gives bit for bit what the training pass gives",
    looks_like=("ADP031", "ADP003"),
    steps=60,
)
