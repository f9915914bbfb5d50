"""One bad batch, and bf16 moments that never forget it.

``exp_avg_sq * 0.999`` is rounded back to ``exp_avg_sq``: after a gradient that was a
thousand times too large the updates stay small for good.

Fix: weights and moments in float32, computing in bf16 under autocast.
Source: Nerogar/OneTrainer#1005, arXiv:2010.06192.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, base, plain_case


def build(fixed: bool) -> Case:
    """Build it in bf16, or in float32; the first loss is 1000 times too large."""
    model = base()
    if not fixed:
        model = model.to(torch.bfloat16)
    factors = iter([1e3])

    def loss_of(batch: Any) -> torch.Tensor:
        return model(**batch).loss * next(factors, 1.0)

    return plain_case(model, lr=1e-3, loss_of=loss_of)


FAULT = Fault(
    "after one bad batch the run stays slow",
    code="NUM008",
    places=("optimizer exp_avg_sq",),
    steps=18,
    evident=16,
    also=("NUM002",),
)
