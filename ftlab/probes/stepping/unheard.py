"""Says when backwards come and no optimizer step is heard.

A step ends with an optimizer's step. Where none is heard the first step stays open for
ever and the run stays empty, which its user must learn. Where the weights are still
what they were, what is known of the missing update is noted as the operation
``no_update`` of step -1: that of a run without any step.
"""

import warnings
from collections.abc import Callable, Sequence

import torch

from ftlab.probes.stepping.accumulating import asked_for
from ftlab.probes.stepping.discarded import followed
from ftlab.probes.stepping.open_step import OpenStep
from ftlab.probes.stepping.still_weights import StillWeights
from ftlab.probes.torch_private import versions
from ftlab.probes.watched import WatchedParameters
from ftlab.records.errors import FtlabWarning
from ftlab.records.step import LedgerEntry

FIRST_LOOK = 8
"""Backwards of one step after which its weights are looked at; then twice as many."""

UNLIKELY = 1024
"""Backwards without an optimizer step that no accumulation is expected to reach.

The weights' versions tell earlier, but a compiled fused optimizer leaves them alone.
"""

CLEARED = 3
"""How often gradients must have been cleared too early before that is told at once."""


class UnheardUpdates:
    """Watches an open step that goes on and on, and warns once.

    Parameters
    ----------
    model
        Named in the warning.
    watched
        Its weights.
    sink
        Gets what is known of updates that never came.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        watched: WatchedParameters,
        sink: Callable[[LedgerEntry], None],
    ) -> None:
        self._name = type(model).__name__
        self._watched = watched
        self._sink = sink
        self._seen: tuple[int, list[tuple[int, int] | None]] = (-1, [])
        self._warned = self._noted = self._updated = False
        self._still: StillWeights | None = None
        self._fresh = self._gathered = self._clears = self._divided = 0
        self._held: dict[int, int] = {}

    def on_backward(self, step: OpenStep, divided: Sequence[float]) -> None:
        """Look at the weights after 8, 16, 32, ... backwards of one step.

        Parameters
        ----------
        step
            The step under way.
        divided
            What the loss was divided by.
        """
        self._count(divided)
        self._look(step)
        count = step.backwards
        if self._warned or count < FIRST_LOOK or count & (count - 1):
            return
        before, self._seen = self._seen, (step.step, self._versions())
        changed = before[0] == step.step and before[1] != self._seen[1]
        if changed or count >= UNLIKELY:
            self._warn(count, changed)

    def on_zero_grad(self) -> None:
        """Note that gradients were cleared that no update had used."""
        if self._fresh and not self._updated:
            self._clears += 1
            self._gathered = max(self._gathered, self._fresh)
            self._fresh = 0

    def on_held_step(self, index: int) -> None:
        """Note that accelerate has left out a step, as it is still gathering."""
        if not self._updated:
            self._held[index] = self._held.get(index, 0) + 1

    def on_update(self) -> None:
        """Note that an optimizer was heard: what follows is ordinary steps."""
        self._updated, self._still = True, None

    def on_end(self, step: OpenStep, first_step: int) -> None:
        """Tell when watching ends before any optimizer step was heard."""
        if step.step != first_step:
            return
        moved = None if self._still is None else self._still.look(wait=True)
        if moved is False:
            self._note(step, ended=True)
        if step.backwards > 1 and not self._warned:
            self._warn(step.backwards, changed=bool(moved))

    def _count(self, divided: Sequence[float]) -> None:
        if self._updated:
            return
        if self._still is None:
            self._still = StillWeights(followed(self._watched))
        self._fresh += 1
        self._divided = max(self._divided, int(max(divided, default=0)))

    def _look(self, step: OpenStep) -> None:
        """Tell at once what is proven: no update can come of what has been seen."""
        if self._updated or self._noted or not self._is_proven():
            return
        moved = self._still.look() if self._still else None
        if moved is None:
            return
        self._noted = True
        if not moved:
            self._note(step, ended=False)

    def _is_proven(self) -> bool:
        held = max(self._held.values(), default=0)
        too_early = self._clears >= CLEARED and 2 <= self._gathered < self._divided
        return too_early or held > max(asked_for(), 1)

    def _note(self, step: OpenStep, *, ended: bool) -> None:
        detail = {
            "backwards": step.backwards,
            "clears": self._clears,
            "gathered": self._gathered,
            "divided": self._divided,
            "held": max(self._held.values(), default=0),
            "asked": asked_for(),
            "ended": ended,
        }
        self._sink(LedgerEntry(-1, int(ended), "no_update", "model", detail))

    def _versions(self) -> list[tuple[int, int] | None]:
        return versions(self._watched.tensors.parameters)

    def _warn(self, count: int, changed: bool) -> None:
        self._warned = True
        though = ", though its weights change" if changed else ""
        msg = (
            f"ftlab has heard {count} backwards of {self._name} and no optimizer step"
            f"{though}. A step is recorded when an optimizer steps: until then there "
            "are no losses and no gradients. An update that is written by hand, or "
            "compiled (torch.compile(optimizer.step)), is not heard: call step() of a "
            "torch.optim.Optimizer outside of torch.compile."
        )
        warnings.warn(msg, FtlabWarning, stacklevel=2)
