"""How many backwards of a step were cleared away before any update used them.

``zero_grad`` in the loop over micro-batches leaves the last one's gradients alone. Some
methods clear between two backwards on purpose: those that move the weights in between
(sharpness-aware steps), and those that put gradients of their own in place.
"""

from collections.abc import Iterable

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.probe import Reading
from ftlab.probes.stepping.carried import is_due, spread
from ftlab.probes.stepping.open_step import OpenStep
from ftlab.probes.tensors.updates import spaced
from ftlab.probes.watched import WatchedParameters

COLUMN = "gradients_thrown_away"

ELEMENTS = 64
"""Elements of each weight that are compared between two backwards."""


class DiscardedGradients:
    """Counts the backwards whose gradients were cleared without an update.

    Parameters
    ----------
    watched
        Whose weights are compared.
    """

    def __init__(self, watched: WatchedParameters) -> None:
        self._watched = watched
        self._forget()

    def _forget(self) -> None:
        self._fresh = self._thrown = 0
        self._weights: list[torch.Tensor] = []
        self._moved: list[torch.Tensor] = []

    def before_backward(self, step: OpenStep) -> None:
        """See whether the weights have moved since the backward before."""
        if not is_due(step.step):
            return
        now = [spaced(p.detach())[:ELEMENTS] for p in followed(self._watched)]
        before, self._weights = self._weights, [each.clone() for each in now]
        if self._thrown and len(before) == len(now):
            self._moved += [(a != b).any() for a, b in zip(now, before, strict=True)]

    def after_backward(self) -> None:
        """Count a backward that has changed a watched gradient."""
        self._fresh += 1

    def on_zero_grad(self) -> None:
        """Count what is thrown away."""
        self._thrown += self._fresh
        self._fresh = 0

    def before_step(self, step: OpenStep, *, judged: bool) -> None:
        """Hand over the count; ``judged``: the gradients are backward's own.

        They are not with a closure, or where somebody has put others in place; and of
        an optimizer of another model nothing can be said.
        """
        thrown, fresh, moved = self._thrown, self._fresh, self._moved
        self._forget()
        if not judged or not fresh or not is_due(step.step):
            return
        if not thrown or not moved:
            step.values[COLUMN] = 0.0
            return

        def finish(values: NDArray[np.float32]) -> Iterable[dict[str, float]]:
            yield {COLUMN: 0.0 if values.any() else float(thrown)}

        step.keep((COLUMN, ""), [Reading(torch.stack(moved).float(), finish)])


def followed(watched: WatchedParameters) -> list[torch.Tensor]:
    """Choose a few ordinary weights among those that are watched."""
    found = [
        each
        for each in watched.tensors.parameters
        if type(each.data) is torch.Tensor and not each.is_meta and each.numel()
    ]
    return spread(found)
