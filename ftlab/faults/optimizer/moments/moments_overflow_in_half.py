"""The scaled loss is never unscaled, "for Adam does not care": v overflows in fp16.

In pure fp16 the moments are fp16 too, and the second one is the square of the gradient:
above 65,504 it is infinite. What is divided by infinity is 0, so that the weights with
the largest gradients stop, for good.

Fix: unscale before the step, and keep weights and moments in float32.
Source: measured.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, adamw, base, batches

SCALE = 2.0**16


def build(fixed: bool) -> Case:
    """Train in fp16 with the scaled loss, or with the loss as it is."""
    model = base().to(torch.float16)
    optimizer = adamw(model, lr=1e-3, eps=1e-4)
    scale = 1.0 if fixed else SCALE

    def step(batch: Any) -> float:
        optimizer.zero_grad()
        loss: torch.Tensor = model(**batch).loss
        (loss.float() * scale).backward()
        optimizer.step()
        return float(loss.detach())

    return Case(model, optimizer, batches(), step)


FAULT = Fault(
    "weights with large gradients stop, since their second moment is infinite",
    code="OPT025",
    places=("optimizer exp_avg_sq",),
    steps=8,
    evident=2,
    families=("llama", "gpt2", "neox"),
)
