"""An epoch has fewer batches than are gathered for an update.

``(i + 1) % 8 == 0`` with ``i`` counted from the epoch's beginning is never true in an
epoch of five batches, and each epoch begins with ``zero_grad``.

Fix: count over the epochs, or step at the end of each.
Source: huggingface/transformers#2995, timoschick/pet#25.
"""

from typing import Any

from ftlab.faults.builders import Case, Fault, adamw, batches, lora

EPOCH = 5
MICRO = 8


def build(fixed: bool) -> Case:
    """Gather eight micro-batches, or the five that an epoch has."""
    model = lora()
    optimizer = adamw(model)
    gathered = EPOCH if fixed else MICRO
    count = 0

    def step(batch: Any) -> float:
        nonlocal count
        index = count % EPOCH
        count += 1
        if index == 0:
            optimizer.zero_grad()
        loss = model(**batch).loss / gathered
        loss.backward()
        if (index + 1) % gathered == 0:
            optimizer.step()
            optimizer.zero_grad()
        return float(loss.detach())

    return Case(model, optimizer, batches(EPOCH, size=2), step)


FAULT = Fault(
    "on little data each epoch has the same losses",
    code="GRD019",
    places=("call optimizer.zero_grad",),
    steps=16,
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
