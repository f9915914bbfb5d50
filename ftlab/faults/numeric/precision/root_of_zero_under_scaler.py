"""A square root of 0 in the loss: finite forward, no finite gradient at any scale.

The loss is an ordinary number. Its gradient is infinite times 0, so the scaler skips
each update, at a scale of 1 as it did at 65536.

Fix: ``(x + eps).sqrt()``, or a mask that selects before the root.
Source: NVIDIA/apex#715 (a scale of 1e-305).
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, adamw, base, batches, lora, token_loss
from ftlab.faults.builders.loops import scaled_step


def build(fixed: bool) -> Case:
    """Build LoRA with a penalty on how far the hidden states are from themselves."""
    model = lora(base())
    optimizer = adamw(model)
    scaler = torch.amp.GradScaler("cpu", init_scale=16.0)

    def loss_of(batch: Any) -> torch.Tensor:
        with torch.autocast("cpu", dtype=torch.float16):
            logits = model(**batch).logits
            apart = (logits.float() - logits.detach().float()).pow(2).sum(-1)
            distance = (apart + 1e-6).sqrt() if fixed else apart.sqrt()
            return token_loss(logits, batch) + 0.1 * distance.mean()

    step = scaled_step(loss_of, optimizer, scaler)
    return Case(model, optimizer, batches(), step, scaler=scaler)


FAULT = Fault(
    "the loss is finite, no weight changes, and the loss scale falls below 1",
    code="NUM004",
    places=("call GradScaler.update",),
    steps=8,
    evident=4,
    families=("llama", "gpt2", "neox", "own"),
)
