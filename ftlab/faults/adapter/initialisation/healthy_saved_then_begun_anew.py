"""One adapter per task, in one process: each is saved, then the next one begins."""

from typing import Any

from ftlab.faults.adapter.initialisation.adapter_reset_each_epoch import reset
from ftlab.faults.builders.loops import plain_step
from ftlab.faults.builders.tiny import adamw, batches, lora
from ftlab.faults.builders.trainers import folder
from ftlab.faults.fault import Case, Healthy

TASK = 20


def build() -> Case:
    """Build a loop over tasks."""
    model = lora()
    optimizer = adamw(model, lr=5e-3)
    inner = plain_step(model, optimizer)
    path = folder(model)

    def step(batch: Any) -> float:
        done = len(case.losses)
        if done and done % TASK == 0:
            model.save_pretrained(path / f"task {done // TASK}")
            reset(model)
            optimizer.state.clear()
        return inner(batch)

    case = Case(model, optimizer, batches(), step)
    return case


HEALTHY = Healthy(
    "saved-then-begun-anew",
    "the adapter is back at 0 every 20 steps",
    looks_like=("ADP037", "ADP001"),
    steps=80,
)
