"""A compiled model beside which much runs eagerly, as its author wants it.

Its first step is eager by a stance, evaluations call the module inside, and batches
come in two lengths, for each of which a graph is made.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, adamw, batches, own, plain_step


def build() -> Case:
    """Build a compiled model with an eager first step and eager evaluations."""
    model = own()
    compiled: Any = torch.compile(model, backend="eager", dynamic=False)
    optimizer = adamw(model, lr=2e-3)
    train = plain_step(compiled, optimizer)
    steps = iter(range(1_000_000))

    def step(batch: Any) -> float:
        number = next(steps)
        if number % 2:
            batch = {name: values[:, :8] for name, values in batch.items()}
        stance = "force_eager" if number == 0 else "default"
        with torch.compiler.set_stance(stance):
            loss = train(batch)
        with torch.no_grad():
            model(**batch)
        return loss

    return Case(compiled, optimizer, batches(), step)


HEALTHY = Healthy(
    "eager passes of a compiled model, and graphs for two lengths",
    looks_like=("MOD020",),
)
