"""Updates whose gradients are not finite are left out, by a check of one's own.

A penalty has a gradient of NaN in every fourth step. The loss is finite, the optimizer
is not called, and the gradients are cleared before the next backward.
"""

from typing import Any

import torch

from ftlab.faults.builders.tiny import adamw, base, batches, lora, token_loss, trainable
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Build LoRA with a penalty whose root is 0 from time to time."""
    model = lora(base())
    optimizer = adamw(model)
    count = 0

    def step(batch: Any) -> float:
        nonlocal count
        count += 1
        optimizer.zero_grad()
        logits = model(**batch).logits
        apart = (logits - logits.detach() * (1 - 0.1 * (count % 4 > 0))).pow(2).sum()
        loss = token_loss(logits, batch) + 1e-3 * apart.sqrt()
        loss.backward()
        gradients = [p.grad for p in trainable(model) if p.grad is not None]
        norm = torch.nn.utils.get_total_norm(gradients)
        if torch.isfinite(norm):
            optimizer.step()
        return float(loss.detach())

    return Case(model, optimizer, batches(), step)


HEALTHY = Healthy(
    "gradients of NaN, and a loop that goes on",
    looks_like=("NUM009", "NUM001", "GRD002"),
    steps=60,
)
