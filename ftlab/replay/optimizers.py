"""What an optimizer that is about to step may do, and what is done to it."""

from typing import Any

import torch


def inside_backward(optimizer: torch.optim.Optimizer) -> str:
    """Say why ``optimizer`` may not step where it is about to."""
    return (
        f"{type(optimizer).__name__}.step() runs inside backward, where nothing can be "
        "checked before the weights change. Call it after backward to debug this run."
    )


def starve(optimizer: torch.optim.Optimizer) -> None:
    """Let a step of ``optimizer`` change nothing: it has no gradients to go by."""
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            parameter.grad = None


def drop_leftovers(optimizer: Any) -> None:
    """Remove what ``GradScaler.step`` hands to a fused optimizer and would take back.

    Unwinding out of ``optimizer.step`` skips the scaler's own clean-up, and what stays
    would be multiplied into the next step's scale.
    """
    for name in ("grad_scale", "found_inf"):
        if name in vars(optimizer):
            delattr(optimizer, name)
