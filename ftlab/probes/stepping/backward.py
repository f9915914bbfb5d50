"""One call of backward while it runs."""

from collections.abc import Sequence
from typing import Any

import torch

from ftlab.probes.loss.loss_weight import weigh
from ftlab.probes.loss.masked_mean import counted_share, mask_of
from ftlab.probes.loss.times_zero import times_zero
from ftlab.probes.probe import Reading
from ftlab.probes.stepping.accumulating import divided_by
from ftlab.probes.stepping.carried import is_due
from ftlab.probes.stepping.open_step import OpenStep

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
    constant
        Names the product with 0 that makes a constant of the loss.
    counted
        Share of what the loss is the mean of that counts, on the device.
    """

    __slots__ = (
        "_losses",
        "_weights",
        "constant",
        "counted",
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
        self.constant = ""
        self.counted: torch.Tensor | None = None
        self.updated = False
        self.plain: torch.Tensor | None = None

    def look_closely(self) -> None:
        """Read from the graph what is not looked at in each step."""
        self.constant = times_zero(self._losses)
        mask = None if self.weight.mean is None else mask_of(self.weight.mean)
        self.counted = None if mask is None else counted_share(mask)

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
        if self.constant:
            entry["detail"]["times_zero"] = self.constant
        if self.weight.divided and (by := divided_by()):
            entry["detail"]["accelerate"] = by
        if is_due(step.step):
            _keep(step, entry, "labels", self.weight.labels)
            _keep(step, entry, "counted", self.counted)


def _keep(
    step: OpenStep, entry: dict[str, Any], name: str, value: torch.Tensor | None
) -> None:
    def finish(values: Any) -> tuple[()]:
        entry["detail"][name] = float(values[0])
        return ()

    if value is not None:
        step.keep((name, str(step.backwards)), [Reading(value, finish)])
