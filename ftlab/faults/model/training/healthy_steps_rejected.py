"""A step is tried out, and taken back where the loss of the batch did not fall."""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, adamw, base, batches, plain_step
from ftlab.faults.builders.copies import copied, put


def build() -> Case:
    """Train with a rate at which many steps are taken back."""
    model = base()
    optimizer = adamw(model, lr=3e-2)
    train = plain_step(model, optimizer)
    rows = batches(9)

    def step(batch: Any) -> float:
        with torch.no_grad():
            before = float(model(**rows[-1]).loss)
        kept = copied(model)
        loss = train(batch)
        with torch.no_grad():
            if float(model(**rows[-1]).loss) >= before:
                put(model, kept)
        return loss

    return Case(model, optimizer, rows[:-1], step)


HEALTHY = Healthy(
    "many updates are undone before the next one",
    looks_like=("MOD012", "NUM003"),
    steps=60,
)
