"""The loop steps the optimizer, and so does what it calls.

A helper that "finishes the batch" steps as well. Each batch is applied twice: the
learning rate is twice what was asked for.

Fix: step in one place.
Source: the class of loops that mix ``scaler.step(optimizer)`` with
``optimizer.step()``, or a Trainer's own step with one in a callback.
"""

from typing import Any

from ftlab.faults.builders.tiny import adamw, batches, lora
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Build LoRA whose batch is finished in two places."""
    model = lora()
    optimizer = adamw(model)

    def finish() -> None:
        optimizer.step()

    def step(batch: Any) -> float:
        optimizer.zero_grad()
        loss = model(**batch).loss
        loss.backward()
        finish()
        if not fixed:
            optimizer.step()
        return float(loss.detach())

    return Case(model, optimizer, batches(), step)


FAULT = Fault(
    "stepped-by-two",
    "training needs half of the usual learning rate",
    code="GRD005",
    places=("call optimizer.step",),
    steps=8,
    evident=3,
    families=("llama", "gpt2", "neox", "own"),
)
