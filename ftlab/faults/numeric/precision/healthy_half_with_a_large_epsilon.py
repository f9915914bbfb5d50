"""Pure fp16 with an eps that fp16 can hold.

Most second moments are 0, as their floor is 6e-8: Adam is nearly SGD then, and learns.
"""

from typing import Any

import torch

from ftlab.faults.builders.tiny import base, batches
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Train all weights in fp16."""
    model = base().half()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, eps=1e-4)

    def step(batch: Any) -> float:
        optimizer.zero_grad()
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        return float(loss.detach())

    return Case(model, optimizer, batches(), step)


HEALTHY = Healthy(
    "half-with-a-large-epsilon",
    "trained in fp16 with Adam, second moments of 0",
    looks_like=("NUM002", "NUM007", "NUM008"),
    builder=build,
    steps=200,
)
