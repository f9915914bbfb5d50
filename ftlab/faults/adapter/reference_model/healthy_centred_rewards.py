"""Policy gradients with centred rewards: the loss is 0 at every step, and it learns.

GRPO with one update per batch looks like it: the ratio is 1, and rewards within a group
cancel. The old log-probabilities are the training pass over again.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, base, plain_case
from ftlab.faults.builders.preferences import log_chance


def build() -> Case:
    """Build GRPO of a whole model on given rows."""
    model = base()

    def loss_of(batch: Any) -> torch.Tensor:
        ids = batch["input_ids"]
        with torch.no_grad():
            old = log_chance(model, ids)
        reward = (ids % 3).float().mean(1)
        better = (reward - reward.mean()) / (reward.std() + 1e-4)
        return -((log_chance(model, ids) - old).exp() * better).mean()

    return plain_case(model, lr=1e-4, loss_of=loss_of)


HEALTHY = Healthy(
    "the loss is 0 at every step",
    looks_like=("ADP031", "NUM003", "GRD002"),
    steps=60,
)
