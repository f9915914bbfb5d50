"""Each evaluation adds the adapter to the base by hand, and takes it out again.

While it is in the base the adapter is off. Rounding leaves a little of each cycle.
"""

from typing import Any

import torch

from ftlab.faults.builders.hand_merges import put
from ftlab.faults.builders.loops import plain_step
from ftlab.faults.builders.tiny import adamw, batches, lora
from ftlab.faults.fault import Case, Healthy

EVERY = 4


def build() -> Case:
    """Build a LoRA run with a merged evaluation every so often."""
    model = lora()
    optimizer = adamw(model, lr=5e-3)
    train = plain_step(model, optimizer)

    @torch.no_grad()
    def evaluate(batch: Any) -> None:
        put(model)
        with model.disable_adapter():
            model(**batch)
        put(model, sign=-1)

    def step(batch: Any) -> float:
        if case.losses and len(case.losses) % EVERY == 0:
            evaluate(batch)
        return train(batch)

    case = Case(model, optimizer, batches(), step)
    return case


HEALTHY = Healthy(
    "merged-by-hand-for-evaluation",
    "evaluations change the base weights, which do not come back bit for bit",
    looks_like=("ADP023", "ADP009", "ADP007"),
    steps=60,
)
