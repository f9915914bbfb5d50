"""Policy gradients with centred rewards: the loss is 0 at every step, and it learns.

GRPO with one update per batch looks like it: the ratio is 1, and rewards within a group
cancel. The old log-probabilities are the training pass over again.
"""

from typing import Any

import torch

from ftlab.faults.builders.loops import loss_step
from ftlab.faults.builders.preferences import log_chance
from ftlab.faults.builders.tiny import adamw, base, batches
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Build GRPO of a whole model on given rows."""
    model = base()
    optimizer = adamw(model, lr=1e-4)

    def loss_of(batch: Any) -> torch.Tensor:
        ids = batch["input_ids"]
        with torch.no_grad():
            old = log_chance(model, ids)
        reward = (ids % 3).float().mean(1)
        better = (reward - reward.mean()) / (reward.std() + 1e-4)
        return -((log_chance(model, ids) - old).exp() * better).mean()

    return Case(model, optimizer, batches(), loss_step(loss_of, optimizer))


HEALTHY = Healthy(
    "centred-rewards",
    "the loss is 0 at every step",
    looks_like=("ADP031", "NUM003", "GRD002"),
    steps=60,
)
