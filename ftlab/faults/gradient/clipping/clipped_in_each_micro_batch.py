"""Gradients are clipped in the loop over micro-batches, before the sum is complete.

What has been summed is shrunk to the limit each time, and the next micro-batch is added
at full size: the last one decides.

Fix: clip once, after the last backward.
Source: swathikirans/GSM#22; huggingface/diffusers#721 mended it in a script.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, adamw, lora, micro_batches, trainable

MICRO, LIMIT = 4, 1e-3


def build(fixed: bool) -> Case:
    """Build LoRA with four micro-batches per update."""
    model = lora()
    optimizer = adamw(model)

    def clip() -> None:
        torch.nn.utils.clip_grad_norm_(trainable(model), LIMIT)

    def step(group: Any) -> float:
        optimizer.zero_grad()
        total = 0.0
        for batch in group:
            loss = model(**batch).loss / MICRO
            loss.backward()
            total += float(loss.detach())
            if not fixed:
                clip()
        if fixed:
            clip()
        optimizer.step()
        return total

    return Case(model, optimizer, micro_batches(MICRO), step)


FAULT = Fault(
    "with accumulation the loss is as noisy as without",
    code="GRD011",
    places=("call torch.nn.utils.clip_grad_norm_",),
    steps=8,
    evident=2,
    families=("llama", "gpt2", "neox", "own"),
)
