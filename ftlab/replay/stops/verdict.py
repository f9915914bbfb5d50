"""Whether a step went wrong, asked once, before the weights change."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ftlab.replay.capsules.scaler import handles_overflow
from ftlab.replay.tracing.finite import non_finite

Named = Sequence[tuple[str, torch.nn.Parameter]]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is anomalous at the end of a step.

    Attributes
    ----------
    what
        ``"nan"`` or ``"inf"``, of the loss if that is non-finite, else of a gradient.
    in_loss
        Whether it shows in the loss.
    loss
        The loss, before a scaler multiplied it.
    parameters
        Parameters whose gradient is non-finite.
    """

    what: str
    in_loss: bool
    loss: float | None
    parameters: tuple[str, ...]


def judge(
    losses: Sequence[torch.Tensor], trainable: Named, scalers: tuple[Any, ...]
) -> Verdict | None:
    """Return what is wrong with a step in which something is non-finite.

    Non-finite gradients are no anomaly while a gradient scaler handles them: it skips
    the step and lowers its scale. They are one when its scale has collapsed.
    """
    bad_loss = next((kind for loss in losses if (kind := non_finite(loss))), None)
    if bad_loss is None and handles_overflow(scalers):
        return None
    parameters = bad_gradients(trainable)
    kinds = {non_finite(p.grad) for _, p in trainable}
    return Verdict(
        what=bad_loss or ("nan" if "nan" in kinds else "inf"),
        in_loss=bad_loss is not None,
        loss=_value(losses),
        parameters=parameters,
    )


def bad_gradients(trainable: Named) -> tuple[str, ...]:
    """Name the parameters whose gradient is non-finite."""
    return tuple(name for name, p in trainable if non_finite(p.grad) is not None)


def scalar_results(result: Any) -> list[torch.Tensor]:
    """Return what a step gave back, if it is a loss: a floating-point scalar."""
    is_loss = isinstance(result, torch.Tensor) and result.numel() == 1
    return [result.detach()] if is_loss and result.is_floating_point() else []


def same_values(first: Iterable[torch.Tensor], second: Iterable[torch.Tensor]) -> bool:
    """Compare bit for bit, with NaN equal to NaN."""
    pairs = list(zip(list(first), list(second), strict=False))
    return all(
        a.shape == b.shape and bool(((a == b) | (a.isnan() & b.isnan())).all())
        for a, b in pairs
    )


def _value(losses: Sequence[torch.Tensor]) -> float | None:
    if not losses:
        return None
    shown = next((loss for loss in losses if non_finite(loss)), losses[-1])
    return float(shown.float().mean())
