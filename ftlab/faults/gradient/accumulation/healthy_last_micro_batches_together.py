"""Losses are divided by four, and the updates of an epoch are of four and of two.

The last micro-batches of an epoch of ten are stepped for themselves, under AdamW, which
forgets that they are divided by four as well.
"""

from typing import Any

from ftlab.faults.builders import Case, Healthy, adamw, backwards, batches, lora

MICRO = 4


def build() -> Case:
    """Build LoRA on groups of four, four and two micro-batches."""
    model = lora()
    optimizer = adamw(model)
    rows = batches(10, size=2)
    groups = [rows[:4], rows[4:8], rows[8:]]

    def step(group: Any) -> float:
        total = backwards(model(**batch).loss / MICRO for batch in group)
        optimizer.step()
        optimizer.zero_grad()
        return total

    return Case(model, optimizer, groups, step)


HEALTHY = Healthy(
    "updates of unlike sizes, and one number that all losses are divided by",
    looks_like=("GRD017", "OPT003"),
    steps=100,
)
