"""autocast around the loop in place of the forward: it keeps its first weights.

autocast keeps its casts of float32 weights until the context is left. The optimizer
moves the weights, and the forward does not see it.

Fix: ``with torch.autocast(...)`` around forward and loss.
Source: X-GenGroup/Flow-Factory#186 (a flat loss under one outer context).
"""

import contextlib
from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, adamw, base, batches, lora


def build(fixed: bool) -> Case:
    """Build LoRA in float32; one step of the case is an epoch of four updates."""
    model = lora(base())
    optimizer = adamw(model, lr=1e-2)

    def autocast() -> Any:
        return torch.autocast("cpu", dtype=torch.bfloat16)

    def step(group: Any) -> float:
        total = 0.0
        with contextlib.nullcontext() if fixed else autocast():
            for batch in group:
                optimizer.zero_grad()
                with autocast():
                    loss = model(**batch).loss
                loss.backward()
                optimizer.step()
                total += float(loss.detach())
        return total

    rows = batches(8, size=2)
    return Case(model, optimizer, [rows[:4], rows[4:]], step)


FAULT = Fault(
    "the loss stays where it is within each epoch",
    code="NUM010",
    places=("call torch.autocast",),
    steps=3,
    evident=1,
    families=("llama", "gpt2", "neox", "own"),
)
