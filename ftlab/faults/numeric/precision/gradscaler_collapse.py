"""A log-sum-exp of one's own overflows in fp16, and the loss scale falls for ever.

``exp`` of anything above 11.09 is infinite in fp16. So the loss and every gradient are,
at any scale: the scaler halves, skips the update, and halves again.

Fix: ``torch.logsumexp`` in float32, or bf16.
Source: NVIDIA/apex#715, insightface#2262 (a scale of 0 after twenty steps).
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, adamw, base, batches, lora, token_loss
from ftlab.faults.builders.loops import scaled_step


def build(fixed: bool) -> Case:
    """Build LoRA under fp16 autocast with a z-loss."""
    model = lora(base())
    optimizer = adamw(model, lr=1e-2)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**16)

    def loss_of(batch: Any) -> torch.Tensor:
        with torch.autocast("cpu", dtype=torch.float16):
            logits = model(**batch).logits
            large = logits.half() * 1000
            large = large.float() if fixed else large
            z = large.logsumexp(-1) if fixed else large.exp().sum(-1).log()
            return token_loss(logits, batch) + 1e-9 * z.float().pow(2).mean()

    step = scaled_step(loss_of, optimizer, scaler)
    return Case(model, optimizer, batches(), step, scaler=scaler)


FAULT = Fault(
    "no weight changes, and the loss scale is halved at each step",
    code="NUM004",
    places=("call GradScaler.update",),
    evident=2,
    also=("NUM001",),
    families=("llama", "gpt2", "neox", "own"),
)
