"""An update of 64 micro-batches.

Most of the time nothing tells this run from one that never makes an update.
"""

from itertools import count
from typing import Any

from ftlab.faults.builders import Case, Healthy, adamw, batches, lora

MICRO = 64


def build() -> Case:
    """Build LoRA that is updated once in 64 iterations."""
    model = lora()
    optimizer = adamw(model)
    rows = batches(size=1, length=8)
    numbers = count(1)

    def step(batch: Any) -> float:
        loss = model(**batch).loss
        (loss / MICRO).backward()
        if next(numbers) % MICRO == 0:
            optimizer.step()
            optimizer.zero_grad()
        return float(loss.detach())

    return Case(model, optimizer, rows, step)


HEALTHY = Healthy(
    "60 backwards and not one update so far",
    looks_like=("GRD019", "GRD005"),
    steps=130,
)
