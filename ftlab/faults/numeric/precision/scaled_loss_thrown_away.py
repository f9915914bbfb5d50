"""backward on the loss, and not on what scaler.scale returns.

``scaler.scale(loss)`` changes nothing in place. The gradients are in true scale, and
``scaler.step`` divides them all the same: 65536 times too small.

Fix: ``scaler.scale(loss).backward()``.
Source: torch.amp, "Gradient Scaling" (scale returns the scaled loss).
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, base, batches, lora, trainable


def build(fixed: bool) -> Case:
    """Build LoRA with SGD."""
    model = lora(base())
    optimizer = torch.optim.SGD(trainable(model), lr=0.5)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**16)

    def step(batch: Any) -> float:
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = model(**batch).loss
        scaled = scaler.scale(loss)
        (scaled if fixed else loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return float(loss.detach())

    return Case(model, optimizer, batches(), step, scaler=scaler)


FAULT = Fault(
    "hardly any progress",
    code="NUM006",
    places=("call loss.backward",),
    evident=1,
    also=("NUM002",),
    families=("llama", "gpt2", "neox", "own"),
)
