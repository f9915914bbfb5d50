"""Another learning rate, for one step of an optimizer."""

import contextlib
import math
from collections.abc import Callable, Iterator
from typing import Any

import torch

from ftlab.records.errors import BadValueError

Rate = Callable[[float], float]
"""Makes a new learning rate out of a group's own."""


def rate_of(lr: float | str) -> Rate:
    """Read a learning rate: a number, or ``"/10"`` and ``"*0.5"`` of each group's own.

    Raises
    ------
    BadValueError
        When it is neither, negative, or not finite.

    Examples
    --------
    >>> from ftlab.replay.trials.rates import rate_of
    >>> rate_of(1e-5)(0.1), rate_of("/10")(0.5), rate_of("* 2")(0.5)
    (1e-05, 0.05, 1.0)
    """
    text = str(lr).strip()
    sign, number = (text[:1], text[1:]) if text[:1] in ("/", "*") else ("", text)
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 0) or (sign == "/" and value == 0):
        msg = (
            f"with_lr({lr!r}): pass a rate, such as 1e-5, or a factor on each group's "
            "own, such as '/10' or '*0.5'."
        )
        raise BadValueError(msg)
    if not sign:
        return lambda _: value
    return (lambda own: own / value) if sign == "/" else (lambda own: own * value)


@contextlib.contextmanager
def changed_rates(optimizer: Any, rate: Rate) -> Iterator[None]:
    """Let ``optimizer`` step with other learning rates within a ``with`` block.

    Raises
    ------
    BadValueError
        When no group of it has a learning rate.
    """
    changed = []
    for group in optimizer.param_groups:
        own = group.get("lr")
        if isinstance(own, float | int | torch.Tensor):
            changed.append((group, own, _like(own, rate(float(own)))))
    if not changed:
        msg = (
            f"with_lr: {type(optimizer).__name__} has no learning rate in its groups; "
            "it computes its own."
        )
        raise BadValueError(msg)
    for group, _, new in changed:
        group["lr"] = new
    try:
        yield
    finally:
        for group, own, new in changed:
            if group["lr"] is new:  # an optimizer may move its rate by itself
                group["lr"] = own


def _like(own: Any, value: float) -> Any:
    return torch.full_like(own, value) if isinstance(own, torch.Tensor) else value
