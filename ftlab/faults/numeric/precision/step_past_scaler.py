"""optimizer.step() where scaler.step(optimizer) belongs.

The loss is scaled and nobody divides the gradients: they are 65536 times too large.
Adam hides it, and no overflow is skipped any more.

Fix: ``scaler.step(optimizer)``.
Source: torch.amp, "Gradient Scaling" (scaler.step unscales and calls the step).
"""

from typing import Any

import torch

from ftlab.faults.builders.tiny import adamw, base, batches, lora
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Build LoRA with AdamW."""
    model = lora(base())
    optimizer = adamw(model)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**12)

    def step(batch: Any) -> float:
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = model(**batch).loss
        scaler.scale(loss).backward()
        if fixed:
            scaler.step(optimizer)
            scaler.update()
        else:
            optimizer.step()
        return float(loss.detach())

    return Case(model, optimizer, batches(), step, scaler=scaler)


FAULT = Fault(
    "step-past-scaler",
    "gradients are thousands of times too large",
    code="NUM006",
    places=("call optimizer.step",),
    evident=1,
    families=("llama", "gpt2", "neox", "own"),
)
