"""Says when weights are updated by something that is not heard as an optimizer step.

A step ends with an optimizer's step. Where none is heard the first step stays open for
ever and the run stays empty, which its user must learn.
"""

import warnings

import torch

from ftlab.probes.open_step import OpenStep
from ftlab.probes.torch_private import versions
from ftlab.probes.watched import WatchedParameters
from ftlab.records.errors import FtlabWarning

FIRST_LOOK = 8
"""Backwards of one step after which its weights are looked at; then twice as many."""

UNLIKELY = 1024
"""Backwards without an optimizer step that no accumulation is expected to reach.

The weights' versions tell earlier, but a compiled fused optimizer leaves them alone.
"""


class UnheardUpdates:
    """Watches an open step that goes on and on, and warns once.

    Parameters
    ----------
    model
        Named in the warning.
    watched
        Its weights.
    """

    def __init__(self, model: torch.nn.Module, watched: WatchedParameters) -> None:
        self._name = type(model).__name__
        self._watched = watched
        self._seen: tuple[int, list[tuple[int, int] | None]] = (-1, [])
        self._told = False

    def on_backward(self, step: OpenStep) -> None:
        """Look at the weights after 8, 16, 32, ... backwards of one step."""
        count = step.backwards
        if self._told or count < FIRST_LOOK or count & (count - 1):
            return
        before, self._seen = self._seen, (step.step, self._versions())
        changed = before[0] == step.step and before[1] != self._seen[1]
        if changed or count >= UNLIKELY:
            self._tell(count, changed)

    def on_end(self, step: OpenStep, first_step: int) -> None:
        """Warn when watching ends before any optimizer step was heard."""
        if step.step == first_step and step.backwards > 1 and not self._told:
            self._tell(step.backwards, changed=False)

    def _versions(self) -> list[tuple[int, int] | None]:
        return versions(self._watched.tensors.parameters)

    def _tell(self, count: int, changed: bool) -> None:
        self._told = True
        though = ", though its weights change" if changed else ""
        msg = (
            f"ftlab has heard {count} backwards of {self._name} and no optimizer step"
            f"{though}. A step is recorded when an optimizer steps: until then there "
            "are no losses, no gradients and no findings. An update that is written "
            "by hand, or compiled (torch.compile(optimizer.step)), is not heard: call "
            "step() of a torch.optim.Optimizer outside of torch.compile."
        )
        warnings.warn(msg, FtlabWarning, stacklevel=2)
