"""zero_grad between backward and the optimizer's step.

The gradients are gone before anybody reads them. The optimizer steps over parameters
whose ``.grad`` is ``None`` and changes nothing.

Fix: zero_grad before backward, or after the optimizer's step.
Source: a classic of edited training loops.
"""

from typing import Any

from ftlab.faults.builders import Case, Fault, adamw, batches, lora


def build(fixed: bool) -> Case:
    """Build a LoRA model with the calls in the wrong order."""
    model = lora()
    optimizer = adamw(model)

    def step(batch: Any) -> float:
        if fixed:
            optimizer.zero_grad()
        loss = model(**batch).loss
        loss.backward()
        if not fixed:
            optimizer.zero_grad()
        optimizer.step()
        return float(loss.detach())

    return Case(model, optimizer, batches(), step)


FAULT = Fault(
    "the loss stays flat; no gradient reaches the optimizer",
    code="GRD003",
    places=("call optimizer.zero_grad",),
    steps=10,
    also=("ADP001",),
)
