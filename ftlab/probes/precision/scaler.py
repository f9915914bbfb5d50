"""Loss scaling: what turns scaled losses and gradients into true ones."""

from collections.abc import Iterable, Sequence
from typing import Any

import torch

from ftlab.probes.optimizer.optimizers import Optimizers
from ftlab.probes.precision.scaled_losses import ScaledLosses
from ftlab.probes.probe import Reading
from ftlab.probes.stepping.open_step import OpenStep
from ftlab.probes.torch_private import scale_left_to, scale_of
from ftlab.probes.watched import WatchedParameters


class LossScaling:
    """Follows the gradient scaler of the watched loop.

    Attributes
    ----------
    pending
        The scaler that scaled a loss which no backward has used yet.
    """

    def __init__(self, optimizers: Optimizers, watched: WatchedParameters) -> None:
        self._optimizers = optimizers
        self._watched = watched
        self.pending: Any = None
        self._losses = ScaledLosses()

    def remember(self, outputs: Any, scaled: Any) -> None:
        """Remember what the scaler was given, and what it has made of that."""
        self._losses.add(outputs, scaled)

    def plain(self, losses: Sequence[Any]) -> torch.Tensor | None:
        """Return the loss before it was scaled, where that is known."""
        return self._losses.plain(losses)

    def times(self, losses: Iterable[Any]) -> int | None:
        """Tell how often a scaler has multiplied what backward is called on."""
        times = self._losses.times(losses)
        return 1 if times is None and self.pending is not None else times

    def forget(self) -> None:
        """Begin anew: an update was made."""
        self.pending = None
        self._losses.forget()

    def true_loss(self, loss: torch.Tensor) -> torch.Tensor:
        """Divide out the scale of the loss that backward was called on."""
        scale = scale_of(self.pending)
        return loss if scale is None else loss / scale.to(loss.device)

    def inverse(
        self, step: OpenStep, optimizer: torch.optim.Optimizer | None = None
    ) -> float | torch.Tensor:
        """Return what the gradients are to be multiplied by, as they are now.

        Parameters
        ----------
        step
            The step under way.
        optimizer
            The optimizer that is about to step: a fused one is told the scale.
        """
        if optimizer is None and step.scaler is None:
            return 1.0
        left = scale_left_to(optimizer) if optimizer is not None else None
        scale = left if left is not None else scale_of(step.scaler)
        if scale is None:
            return 1.0
        if not step.unscaled:
            return scale.reciprocal()
        held = self.true_now(step)
        true = [id(each) in held for each in self._watched.tensors.parameters]
        if all(true):
            return 1.0
        factors = scale.reciprocal().repeat(len(true))
        for index in (i for i, is_true in enumerate(true) if is_true):
            factors[index].fill_(1.0)  # a mask from the host would be waited for
        return factors

    def true_now(self, step: OpenStep) -> set[int]:
        """Return the ``id`` of each parameter whose gradient was brought to scale."""
        done = [o for n, o in self._optimizers.training().items() if n in step.unscaled]
        return {
            id(p) for o in done for group in o.param_groups for p in group["params"]
        }

    def all_unscaled(self, step: OpenStep) -> bool:
        """Whether no optimizer of the model still has scaled gradients."""
        return step.unscaled.issuperset(self._optimizers.training())

    def read_scale(self, step: OpenStep) -> None:
        """Put the scale that holds during this step into it."""
        scale = scale_of(step.scaler)
        if scale is not None:
            values = scale.detach().reshape(1).clone()
            finish = _into(step.draft, "loss_scale")
            step.keep(("loss_scale", ""), [Reading(values, finish)])


def read_new_scale(step: OpenStep, scaler: Any) -> None:
    """Record that the scaler has chosen a scale, and which."""
    entry = step.ledger.add("scaler_update", "scaler")
    scale = scale_of(scaler)
    if scale is not None:
        values = scale.detach().reshape(1).clone()
        finish = _into(entry["detail"], "scale")
        which = str(len(step.readings))  # one for each: the scale may change twice
        step.keep(("scaler_update", which), [Reading(values, finish)])


def read_overflow(step: OpenStep, index: int, found: torch.Tensor, entry: Any) -> None:
    """Learn later whether a fused optimizer skipped its step."""

    def finish(values: Any) -> tuple[()]:
        if values[0] > 0:
            step.draft["skipped"] = True
            entry["op"] = "skip"
        return ()

    values = found.detach().reshape(1).float().clone()
    step.keep(("overflow", str(index)), [Reading(values, finish)])


def _into(target: dict[str, Any], key: str) -> Any:
    def finish(values: Any) -> tuple[()]:
        target[key] = float(values[0])
        return ()

    return finish
