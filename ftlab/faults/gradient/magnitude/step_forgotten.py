"""Forward, backward, ``zero_grad``, and no ``optimizer.step()``.

The line was lost when the loop was rewritten; losses of different batches differ, and
their curve looks like the beginning of a training.

Fix: ``optimizer.step()`` after ``loss.backward()``.
Source: discuss.pytorch.org, loops that do not learn.
"""

from typing import Any

from ftlab.faults.builders.tiny import adamw, batches, lora
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Leave the update out."""
    model = lora()
    optimizer = adamw(model)

    def step(batch: Any) -> float:
        optimizer.zero_grad()
        loss = model(**batch).loss
        loss.backward()
        if fixed:
            optimizer.step()
        return float(loss.detach())

    return Case(model, optimizer, batches(), step)


FAULT = Fault(
    "losses that differ, and none that falls",
    code="GRD019",
    places=("call optimizer.step",),
    steps=10,
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
