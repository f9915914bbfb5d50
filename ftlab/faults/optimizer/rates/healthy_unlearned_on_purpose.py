"""Unlearning: an optimizer that maximizes the loss of what is to be forgotten.

The loss rises, and that is the aim. The loop stops its updates well below the loss of
guessing, so that the rest of the model stays usable.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, batches
from ftlab.faults.builders.new_words import learnt_base

ENOUGH = 2.5
"""A loss at which the answers count as forgotten; guessing has 4.85."""


def build() -> Case:
    """Build an ascent on batches that the base knows."""
    model = learnt_base()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5, maximize=True)

    def step(batch: Any) -> float:
        optimizer.zero_grad()
        loss = model(**batch).loss
        if loss < ENOUGH:
            loss.backward()
            optimizer.step()
        return float(loss.detach())

    return Case(model, optimizer, batches(), step)


HEALTHY = Healthy(
    "the loss rises",
    looks_like=("OPT027",),
)
