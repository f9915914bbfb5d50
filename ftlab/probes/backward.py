"""One call of backward while it runs."""

from collections.abc import Sequence
from typing import Any

import torch

UNCLAIMED = 512
"""Backwards without effect that are remembered until an update follows."""


class Backward:
    """What is known of a backward that has begun.

    Parameters
    ----------
    losses
        The tensors that backward was called on.
    weights
        The gradients that were passed to it, ``None`` for those of scalars.
    versions
        State of the watched gradients when it began.

    Attributes
    ----------
    updated
        An optimizer of ours stepped within it.
    """

    __slots__ = ("_losses", "_weights", "updated", "versions")

    def __init__(
        self,
        losses: Sequence[Any] = (),
        weights: Sequence[Any] = (),
        versions: Sequence[tuple[int, int] | None] = (),
    ) -> None:
        self._losses = losses
        self._weights = [*weights, *[None] * (len(losses) - len(weights))]
        self.versions = versions
        self.updated = False

    def loss(self) -> torch.Tensor | None:
        """Return the sum of the scalar losses; ``None`` when one is no scalar."""
        total: torch.Tensor | None = None
        for loss, weight in zip(self._losses, self._weights, strict=True):
            if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
                return None
            value = loss.detach().reshape(1).to(torch.float32, copy=True)
            if isinstance(weight, torch.Tensor):
                value *= weight.detach().reshape(1).to(value)
            total = value if total is None else total + value.to(total.device)
        return total
