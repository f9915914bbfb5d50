"""The optimizer steps before backward: its gradients were just cleared.

Two lines of the loop were swapped. What backward computes then is cleared at the
beginning of the next iteration, before anybody has read it.

Fix: ``loss.backward()`` before ``optimizer.step()``.
Source: a classic of edited training loops.
"""

from typing import Any

from ftlab.faults.builders import Case, Fault, adamw, batches, lora


def build(fixed: bool) -> Case:
    """Build LoRA with two calls swapped."""
    model = lora()
    optimizer = adamw(model)

    def step(batch: Any) -> float:
        optimizer.zero_grad()
        loss = model(**batch).loss
        for call in (loss.backward, optimizer.step)[:: 1 if fixed else -1]:
            call()
        return float(loss.detach())

    return Case(model, optimizer, batches(), step)


FAULT = Fault(
    "the loss stays flat although backward runs in every iteration",
    code="GRD003",
    places=("call optimizer.step",),
    steps=10,
    evident=1,
    also=("ADP001", "NUM003"),
    families=("llama", "gpt2", "neox", "own"),
)
