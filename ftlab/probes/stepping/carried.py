"""Whether gradients of one update are still there at the next one.

Backward adds to what is in ``.grad``. Where nothing clears it, each update is made from
the sum of all gradients so far. Clearing is heard where `zero_grad` does it; where a
loop does it by hand (``p.grad = None``, ``p.grad.data.zero_()``) it is measured.
"""

import weakref
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.probe import Reading
from ftlab.probes.stepping.open_step import OpenStep
from ftlab.probes.tensors.reductions import l2_norms
from ftlab.probes.torch_private import versions
from ftlab.probes.watched import WatchedParameters

SAMPLE = 8
"""Gradients of each optimizer that are followed."""

FIRST, INTERVAL = 8, 16
"""Steps at the beginning that are all looked at, and how often later."""

CARRIED, AGAIN = "gradients_carried", "gradients_used_again"


@dataclass(slots=True)
class _Left:
    """What an optimizer's update has left in ``.grad``.

    Attributes
    ----------
    parameters, gradients
        Held weakly: a gradient that is let go of must go.
    version
        Counts of writes when the update was over.
    least
        The smallest norm that was seen before a backward since; ``None`` before one.
    """

    parameters: list["weakref.ref[torch.Tensor]"]
    gradients: list["weakref.ref[torch.Tensor]"]
    version: list[tuple[int, int] | None] = field(default_factory=list)
    least: torch.Tensor | None = None

    def without(self, cleared: Collection[int]) -> "_Left | None":
        """Leave out parameters by ``id``; ``None`` where nothing remains."""
        kept = [i for i, p in enumerate(self.parameters) if id(p()) not in cleared]
        if not kept:
            return None
        return _Left(
            [self.parameters[i] for i in kept],
            [self.gradients[i] for i in kept],
            [self.version[i] for i in kept],
            self.least,
        )

    def still_there(self) -> list[torch.Tensor]:
        """Return the gradients that are in place; nothing once one of them is not."""
        found = []
        for owner, reference in zip(self.parameters, self.gradients, strict=True):
            parameter, gradient = owner(), reference()
            if parameter is None or gradient is None or not parameter.requires_grad:
                return []
            if parameter.grad is not gradient:
                return []
            found.append(gradient)
        return found


class CarriedGradients:
    """Follows a few gradients of each optimizer from one of its updates to the next.

    Parameters
    ----------
    watched
        The parameters that are followed at all.
    """

    def __init__(self, watched: WatchedParameters) -> None:
        self._watched = watched
        self._left: dict[int, _Left] = {}
        self._stepped: set[int] = set()

    def after_step(self, index: int, optimizer: Any, step: OpenStep) -> None:
        """Remember what the update has left, where the next step is to be looked at."""
        self._left.pop(index, None)
        self._stepped.add(index)
        if not is_due(step.step + 1):
            return
        chosen = spread([p for p in _held(optimizer) if self._is_followed(p)])
        gradients = [p.grad for p in chosen if p.grad is not None]
        if gradients:
            self._left[index] = _Left(
                [weakref.ref(each) for each in chosen],
                [weakref.ref(each) for each in gradients],
                versions(gradients),
            )

    def on_zero_grad(self, owner: Any) -> None:
        """Forget what was cleared on purpose."""
        if not self._left:
            return
        if isinstance(owner, torch.optim.Optimizer):
            cleared = {id(each) for each in _held(owner)}
        else:
            cleared = {id(each) for each in owner.parameters()}
        for key, left in tuple(self._left.items()):
            kept = left.without(cleared)
            if kept is None:
                del self._left[key]
            else:
                self._left[key] = kept

    def before_backward(self) -> None:
        """Measure what is there that backward will add to."""
        for key, left in tuple(self._left.items()):
            gradients = left.still_there()
            # A write by hand, of a 0 or of a share, is meant.
            if not gradients or (
                left.least is None and versions(gradients) != left.version
            ):
                del self._left[key]
                continue
            norm = l2_norms(gradients).amax()
            left.least = norm if left.least is None else torch.minimum(left.least, norm)

    def before_step(self, index: int, step: OpenStep, *, closure: bool) -> None:
        """Say what this update is made of besides the latest gradients.

        With a closure backward comes within the step, and nothing can be said.
        """
        left = self._left.pop(index, None)
        known = index in self._stepped
        if closure or not known or not is_due(step.step):
            return
        if left is None:
            step.values.setdefault(CARRIED, 0.0)
            step.values.setdefault(AGAIN, 0.0)
        elif left.least is not None:
            _keep(step, CARRIED, left.least)
        else:
            gradients = left.still_there()
            if gradients and versions(gradients) == left.version:
                _keep(step, AGAIN, l2_norms(gradients).amax())

    def _is_followed(self, parameter: torch.Tensor) -> bool:
        gradient = parameter.grad
        return (
            id(parameter) in self._watched.members
            and type(gradient) is torch.Tensor
            and gradient.layout is torch.strided
        )


def _keep(step: OpenStep, column: str, norm: torch.Tensor) -> None:
    def finish(values: NDArray[np.float32]) -> Iterable[dict[str, float]]:
        yield {column: float(values[0])}

    step.keep((column, ""), [Reading(norm.reshape(1).float(), finish)])


def is_due(step: int) -> bool:
    """Tell whether what becomes of gradients is looked at in a step."""
    return step < FIRST or step % INTERVAL == 0


def _held(optimizer: Any) -> list[torch.Tensor]:
    return [each for group in optimizer.param_groups for each in group["params"]]


def spread(parameters: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Choose at most `SAMPLE`, of all places and roles, on one device."""
    device = parameters[0].device if parameters else None
    near = [each for each in parameters if each.device == device]
    count = min(SAMPLE, len(near))
    places = np.linspace(0, len(near) - 1, count).round().astype(int).tolist()
    return [near[place] for place in places]
