"""One call of backward while it runs."""

from collections.abc import Sequence
from typing import Any

import torch

from ftlab.probes.accumulating import asked_for
from ftlab.probes.carried import is_due
from ftlab.probes.loss_weight import weigh
from ftlab.probes.open_step import OpenStep
from ftlab.probes.probe import Reading

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
    scaled
        How often a gradient scaler has multiplied the loss; ``None`` without one, or
        where it cannot be told.

    Attributes
    ----------
    updated
        An optimizer of ours stepped within it.
    plain
        The loss before it was scaled, where that is known.
    weight
        What the loss is made of: backward frees what tells.
    """

    __slots__ = (
        "_losses",
        "_weights",
        "plain",
        "scaled",
        "updated",
        "versions",
        "weight",
    )

    def __init__(
        self,
        losses: Sequence[Any] = (),
        weights: Sequence[Any] = (),
        versions: Sequence[tuple[int, int] | None] = (),
        scaled: int | None = None,
    ) -> None:
        self._losses = losses
        self._weights = [*weights, *[None] * (len(losses) - len(weights))]
        self.versions = versions
        self.scaled = scaled
        self.weight = weigh(losses, scaled=bool(scaled))
        self.updated = False
        self.plain: torch.Tensor | None = None

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

    def tell(self, step: OpenStep, entry: dict[str, Any]) -> None:
        """Write into the ledger's entry what the loss was made of."""
        if "times" in entry["detail"]:  # another loss of the same forward
            return
        entry["detail"] |= self.weight.detail()
        if self.weight.divided and (asked := asked_for()):
            entry["detail"]["accelerate"] = asked
        labels = self.weight.labels
        if labels is None or not is_due(step.step):
            return

        def finish(values: Any) -> tuple[()]:
            entry["detail"]["labels"] = float(values[0])
            return ()

        step.keep(("labels", str(step.backwards)), [Reading(labels, finish)])
