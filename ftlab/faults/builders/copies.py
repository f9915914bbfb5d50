"""Copies of a model's trained weights, kept by hand and put in by hand."""

from collections.abc import Sequence

import torch

from ftlab.faults.builders.tiny import trainable


def copied(model: torch.nn.Module) -> list[torch.Tensor]:
    """Copy the trained weights."""
    return [weight.detach().clone() for weight in trainable(model)]


def put(model: torch.nn.Module, values: Sequence[torch.Tensor]) -> None:
    """Write values into the trained weights, in a way that torch does not count."""
    for weight, value in zip(trainable(model), values, strict=True):
        weight.data.copy_(value)


def drawn_to(
    values: Sequence[torch.Tensor], model: torch.nn.Module, share: float
) -> None:
    """Draw kept values towards the trained weights."""
    torch._foreach_lerp_(list(values), [p.detach() for p in trainable(model)], share)
