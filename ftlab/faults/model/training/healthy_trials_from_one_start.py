"""Some trials in one process, each from the same weights with its own optimizer."""

from typing import Any

from ftlab.faults.builders import Case, Healthy, adamw, batches, lora, plain_step
from ftlab.faults.builders.copies import copied, put

EVERY = 10


def build() -> Case:
    """Try out learning rates."""
    model = lora(init_lora_weights="pissa")
    first = copied(model)
    trials = [adamw(model, lr=lr) for lr in (1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3)]
    loops = [plain_step(model, each) for each in trials]

    def step(batch: Any) -> float:
        done = len(case.losses)
        if done % EVERY == 0:
            put(model, first)
        return loops[done // EVERY % len(loops)](batch)

    case = Case(model, trials, batches(), step)
    return case


HEALTHY = Healthy(
    "the weights are those of the first step, again and again",
    looks_like=("MOD012", "ADP037"),
    steps=60,
)
