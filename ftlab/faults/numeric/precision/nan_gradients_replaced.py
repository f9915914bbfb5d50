"""nan_to_num on the gradients: a NaN in each step, and nobody is told.

The root of 0 in a penalty has no finite gradient. Zeros are put in its place, so the
loop runs, the loss is finite, and a part of the model learns from nothing.

Fix: mend the op, ``(x + eps).sqrt()``.
Source: pytorch/pytorch#68425 (NaN gradients of a branch not taken), torch.nan_to_num.
"""

from typing import Any

import torch

from ftlab.faults.builders.tiny import adamw, base, batches, lora, token_loss, trainable
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Build LoRA with a penalty on one B."""
    model = lora(base())
    optimizer = adamw(model)
    second = next(p for name, p in model.named_parameters() if "lora_B" in name)

    def step(batch: Any) -> float:
        optimizer.zero_grad()
        loss = token_loss(model(**batch).logits, batch)
        size = (second - second.detach()).pow(2).sum()
        loss = loss + 1e-3 * (size + 1e-6 if fixed else size).sqrt()
        loss.backward()
        if not fixed:
            for parameter in trainable(model):
                if parameter.grad is not None:
                    torch.nan_to_num_(parameter.grad)
        optimizer.step()
        return float(loss.detach())

    return Case(model, optimizer, batches(), step)


FAULT = Fault(
    "a part of the adapter does not learn",
    code="NUM009",
    places=("call torch.nan_to_num",),
    steps=8,
    evident=4,
    also=("ADP001",),
)
