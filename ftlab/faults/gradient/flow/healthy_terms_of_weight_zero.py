"""A loss with a term that is switched off by 0, and one that comes in slowly from 0.

Both are products with a number that is exactly 0; the likelihood stands beside them.
"""

from itertools import count

import torch

from ftlab.faults.builders import Batch, Case, Healthy, lora, plain_case, trainable

SLOWLY = 40


def build() -> Case:
    """Train LoRA under a likelihood and two penalties."""
    model = lora()
    numbers = count()

    def loss_of(batch: Batch) -> torch.Tensor:
        output = model(**batch)
        strength = max(0, next(numbers) - SLOWLY // 2) / SLOWLY
        size = sum((each**2).sum() for each in trainable(model))
        spread = output.logits.logsumexp(-1).pow(2).mean()
        return output.loss + 0.0 * spread + 1e-4 * strength * size

    return plain_case(model, loss_of=loss_of)


HEALTHY = Healthy(
    "products with a number that is 0 on the way to the loss",
    looks_like=("GRD003",),
    steps=60,
)
