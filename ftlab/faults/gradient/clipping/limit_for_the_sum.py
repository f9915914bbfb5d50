"""``clip_grad_norm_(parameters, 2.0, 1.0)``: the limit and the type are swapped.

The sum of all absolute values is limited to two, and it is a hundred times the L2 norm
that a limit of one was meant for.

Fix: ``clip_grad_norm_(parameters, max_norm=1.0, norm_type=2.0)``.
Source: torch.nn.utils.clip_grad_norm_, whose third argument is the type.
"""

from typing import Any

import torch

from ftlab.faults.builders.tiny import base, batches
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Train a whole model under SGD."""
    model = base()
    weights = list(model.parameters())
    optimizer = torch.optim.SGD(weights, lr=0.3)
    limit, kind = (1.0, 2.0) if fixed else (2.0, 1.0)

    def step(batch: Any) -> float:
        optimizer.zero_grad()
        loss = model(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, limit, kind)
        optimizer.step()
        return float(loss.detach())

    return Case(model, optimizer, batches(), step)


FAULT = Fault(
    "limit-for-the-sum",
    "the norm is near the limit, and learning is slow",
    code="GRD015",
    places=("call clip_grad_norm_",),
    steps=9,
    evident=7,
    families=("llama", "gpt2", "neox", "own"),
)
