"""AdaLoRA that counts everything in micro-batches: the clock and ``total_step``.

The allocator listens to each micro-batch, and is through when the training is.
"""

from typing import Any

from ftlab.faults.builders import Case, Healthy, adamw, batches
from ftlab.faults.builders.methods import ranked

PARTS = 2
STEPS = 40


def build() -> Case:
    """Build a loop that calls the allocator after each backward."""
    model = ranked(PARTS * STEPS)
    optimizer = adamw(model, lr=5e-3)

    def step(batch: Any) -> float:
        total = 0.0
        for part in range(PARTS):
            loss = model(**{k: v[part::PARTS] for k, v in batch.items()}).loss / PARTS
            loss.backward()
            total += float(loss.detach())
            told = PARTS * len(case.losses) + part + 1
            if part + 1 < PARTS:
                model.base_model.update_and_allocate(told)
        optimizer.step()
        model.base_model.update_and_allocate(told)
        optimizer.zero_grad()
        return total

    case = Case(model, optimizer, batches(), step)
    return case


HEALTHY = Healthy(
    "the allocator's clock goes twice as fast as the optimizer's steps",
    looks_like=("ADP036",),
    steps=STEPS,
)
