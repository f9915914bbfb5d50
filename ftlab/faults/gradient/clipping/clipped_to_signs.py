"""Values are clipped so far below what they are that only their signs are left.

A limit for the norm of a gradient with one element, taken over for a model of many.

Fix: clip by norm, or set a limit that most values do not reach.
Source: twtygqyy/pytorch-vdsr#2, facebookresearch/Mask2Former#148.
"""

import torch

from ftlab.faults.builders import Case, Fault, adamw, lora, trainable, updated_by


def build(fixed: bool) -> Case:
    """Train LoRA, clipped by value."""
    model = lora()
    optimizer = adamw(model)
    limit = 1.0 if fixed else 1e-7

    def update() -> None:
        torch.nn.utils.clip_grad_value_(trainable(model), limit)
        optimizer.step()

    return updated_by(update, model, optimizer)


FAULT = Fault(
    "every weight moves by the same tiny amount in each step",
    code="GRD015",
    places=("call clip_grad_value_",),
    evident=2,
    families=("llama", "gpt2", "neox", "own"),
)
