"""Batches of one short row, of which every twentieth is unlike all other ones.

The loss jumps, the gradient with it, and both come back at the next step.
"""

from typing import Any

import torch

from ftlab.faults.builders import VOCABULARY, Case, Healthy, adamw, batches, llama
from ftlab.faults.builders.loops import loss_step
from ftlab.faults.builders.trainers import seeded

EVERY = 20


def build() -> Case:
    """Build full fine-tuning with clipping on rows of six tokens."""
    model = llama()
    optimizer = adamw(model, lr=1e-3, weight_decay=0.1)
    dice = seeded()
    rows = batches(12, size=1, length=6)
    noise = torch.randint(3, VOCABULARY, (1, 6), generator=dice)
    strange = {"input_ids": noise, "labels": noise}

    def loss_of(batch: Any) -> torch.Tensor:
        late = len(case.losses) % EVERY == EVERY - 1
        return model(**(strange if late else batch)).loss

    case = Case(model, optimizer, rows, loss_step(loss_of, optimizer, clip=1.0))
    return case


HEALTHY = Healthy(
    "every twentieth loss is many times the others",
    looks_like=("GRD002", "NUM001"),
)
