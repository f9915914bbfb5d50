"""What is clipped is a generator that the optimizer has read already.

``filter`` and ``model.parameters()`` can be gone through once. The second reader gets
nothing, and clipping nothing succeeds.

Fix: ``parameters = list(...)``.
Source: pytorch/pytorch#148259.
"""

import warnings
from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, lora, updated_by


def build(fixed: bool) -> Case:
    """Train LoRA with parameters that are named once."""
    model = lora()
    parameters: Any = filter(lambda each: each.requires_grad, model.parameters())
    parameters = list(parameters) if fixed else parameters
    optimizer = torch.optim.AdamW(parameters, lr=1e-3, weight_decay=0.0)

    def update() -> None:
        # torch says so, once, among many
        with warnings.catch_warnings(action="ignore", category=UserWarning):
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()

    return updated_by(update, model, optimizer)


FAULT = Fault(
    "the gradient norm that is logged is 0 in every step",
    code="GRD013",
    places=("call clip_grad_norm_",),
    evident=2,
    families=("llama", "gpt2", "neox", "own"),
)
