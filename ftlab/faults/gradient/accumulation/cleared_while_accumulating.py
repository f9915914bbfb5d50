"""zero_grad stands in the loop over micro-batches: only the last one is learnt from.

The loss is divided by the number of micro-batches, and all but the last of them are
cleared away. The update is a quarter of what it should be, from a quarter of the data.

Fix: zero_grad once per update, after ``optimizer.step()``.
Source: huggingface/accelerate#1299, starVLA/starVLA#395 (cleared at the start).
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, adamw, lora, micro_batches

MICRO = 4


def build(fixed: bool) -> Case:
    """Build LoRA with a step of four micro-batches."""
    model = lora()
    optimizer = adamw(model)

    def step(group: Any) -> float:
        total = 0.0
        if fixed:
            optimizer.zero_grad()
        for batch in group:
            if not fixed:
                optimizer.zero_grad()
            loss = model(**batch).loss / MICRO
            loss.backward()
            total += float(loss.detach())
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return total

    return Case(model, optimizer, micro_batches(MICRO), step)


FAULT = Fault(
    "accumulation over four micro-batches learns as if there were one",
    code="GRD005",
    places=("call optimizer.zero_grad",),
    steps=8,
    evident=2,
    families=("llama", "gpt2", "neox", "own"),
)
