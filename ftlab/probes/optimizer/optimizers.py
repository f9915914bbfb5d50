"""Which optimizers train the watched model, and at which rates."""

from typing import Any

import torch

from ftlab.probes.probe import Reading
from ftlab.probes.stepping.open_step import OpenStep
from ftlab.probes.subject import Subject
from ftlab.probes.taps.optimizer import unwrapped
from ftlab.probes.watched import WatchedParameters


class Optimizers:
    """The subject's optimizers, in the order in which they became known.

    One that steps and holds parameters of the model is adopted.
    """

    def __init__(self, subject: Subject, watched: WatchedParameters) -> None:
        self._subject = subject
        self._watched = watched

    def index(self, optimizer: Any) -> int | None:
        """Return the optimizer's index; ``None`` when it is of another model."""
        known = self.known(optimizer)
        if known is not None:
            return known
        optimizer = unwrapped(optimizer)
        groups = getattr(optimizer, "param_groups", ())
        if not any(self._watched.holds_any(group["params"]) for group in groups):
            return None
        self._watched.stale = True  # its groups are part of the names
        return self._subject.add_optimizer(optimizer)

    def known(self, optimizer: Any) -> int | None:
        """Return the index of an optimizer that was met before."""
        return self._subject.optimizer_number(optimizer)

    def training(self) -> dict[int, torch.optim.Optimizer]:
        """Return those that hold a watched parameter, by index."""
        members = self._watched.members
        return {
            index: each
            for index, each in self._subject.live_optimizers.items()
            if any(id(p) in members for g in each.param_groups for p in g["params"])
        }

    def read_rates(self, step: OpenStep) -> None:
        """Put the learning rate of every group into the step."""
        self._subject.follow_groups()
        groups = [g for o in self._subject.optimizers for g in o.param_groups]
        rates = [group.get("lr") for group in groups]
        on_device = [i for i, rate in enumerate(rates) if _is_on_device(rate)]
        known = [
            # Adafactor with relative steps has no rate of its own
            float("nan") if i in on_device or rate is None else float(rate)
            for i, rate in enumerate(rates)
        ]
        step.draft["lr"] = tuple(known)
        for place in on_device:

            def finish(values: Any, place: int = place) -> tuple[()]:
                known[place] = float(values[0])
                step.draft["lr"] = tuple(known)
                return ()

            value = rates[place].detach().reshape(1).float().clone()
            step.keep(("lr", str(place)), [Reading(value, finish)])


def _is_on_device(rate: Any) -> bool:
    return isinstance(rate, torch.Tensor) and rate.device.type != "cpu"
