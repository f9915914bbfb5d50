"""What an optimizer that is about to step may do, and what is done to it."""

import warnings
from collections.abc import Mapping
from typing import Any

import torch

from ftlab.records.errors import FtlabWarning


def inside_backward(optimizer: torch.optim.Optimizer) -> str:
    """Say why ``optimizer`` may not step where it is about to."""
    return (
        f"{type(optimizer).__name__}.step() runs inside backward, where nothing can be "
        "checked before the weights change. Call it after backward to debug this run."
    )


def has_closure(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """Say whether ``optimizer.step`` is called with something to compute the loss."""
    return kwargs.get("closure", next(iter(args[1:]), None)) is not None


def warn_of_closure(optimizer: torch.optim.Optimizer) -> None:
    """Say that the run goes past the debugger here."""
    name = type(optimizer).__name__
    msg = (
        f"{name}.step() was given a closure, so it computes loss and gradients itself "
        "and changes the weights immediately, before anything can be checked or "
        "repeated. Training continues; it pauses at these steps only after the weights "
        "have changed. Call backward before step() to debug them."
    )
    warnings.warn(msg, FtlabWarning, stacklevel=3)


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
