"""Sees learning-rate schedulers step.

The class's method is rebound and the optimizer is left alone: schedulers wrap
``optimizer.step`` themselves to warn when the order is wrong.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, SupportsFloat

import torch

from ftlab.probes.taps.listener import Listener
from ftlab.probes.taps.nesting import Nesting
from ftlab.probes.taps.rebinding import rebind_method
from ftlab.probes.torch_private import is_under_construction
from ftlab.records.handle import Handle


def tap_scheduler(listener: Listener) -> Handle:
    """Tell of each scheduler step; steps within another scheduler's are not told."""
    nesting = Nesting()

    def around(
        original: Callable[..., Any], scheduler: Any, *args: Any, **kwargs: Any
    ) -> Any:
        if nesting.inside or is_under_construction(scheduler):
            return original(scheduler, *args, **kwargs)
        before = rates_of(scheduler.optimizer)
        with nesting:
            result = original(scheduler, *args, **kwargs)
        after = rates_of(scheduler.optimizer)
        listener.on_scheduler_step(scheduler, before, after, _metric(args, kwargs))
        return result

    return rebind_method(torch.optim.lr_scheduler.LRScheduler, "step", around)


def _metric(args: Sequence[Any], kwargs: Mapping[str, Any]) -> float | None:
    """Return the metric that a scheduler was given, where the host knows it."""
    given = kwargs.get("metrics", args[0] if args else None)
    if isinstance(given, torch.Tensor):
        known = given.numel() == 1 and given.device.type == "cpu"
        return float(given) if known else None
    return float(given) if isinstance(given, SupportsFloat) else None


def rates_of(optimizer: Any) -> tuple[float, ...]:
    """Return the learning rate of each group that the host knows without waiting."""
    rates = (group.get("lr") for group in getattr(optimizer, "param_groups", ()))
    return tuple(
        float(rate)
        for rate in rates
        if not isinstance(rate, torch.Tensor) or rate.device.type == "cpu"
    )
