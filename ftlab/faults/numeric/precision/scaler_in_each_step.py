"""A new GradScaler in each step.

It is made in the function that trains on one batch. Each begins at the first scale,
overflows, skips the update and halves its scale, and is thrown away.

Fix: make the scaler once, before the loop.
Source: torch.amp, "Typical Mixed Precision Training" (once, at the beginning).
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, adamw, base, batches, lora


def build(fixed: bool) -> Case:
    """Build LoRA under fp16 autocast with one scaler for all steps, or one for each."""
    model = lora(base())
    optimizer = adamw(model)
    kept = torch.amp.GradScaler("cpu", init_scale=2.0**26)

    def step(batch: Any) -> float:
        scaler = kept if fixed else torch.amp.GradScaler("cpu", init_scale=2.0**26)
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = model(**batch).loss
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return float(loss.detach())

    return Case(model, optimizer, batches(), step)


FAULT = Fault(
    "nothing is learnt: every update is skipped",
    code="NUM004",
    places=("call GradScaler",),
    steps=8,
    evident=3,
    families=("llama", "gpt2", "neox", "own"),
)
