"""What is done with what an observer tells of an attempt at a step."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import torch

from ftlab.replay.breakpoints.scout import Scout
from ftlab.replay.capsules.capsule import Capsule
from ftlab.replay.capsules.scaler import handles_overflow
from ftlab.replay.retrace import Retrace
from ftlab.replay.tracing.runner import unseen
from ftlab.replay.trials.variation import Variation
from ftlab.replay.unwinding import Unwinding


class Judge(Protocol):
    """Whoever judges a step where its weights are about to change."""

    def boundary(self, result: Any = None) -> None:
        """Judge it."""


class Hearing:
    """The listener of a call's `CallObserver`.

    Parameters
    ----------
    capsule, retrace, variation, unwinding, scout, judge
        Those of the call.

    Attributes
    ----------
    losses
        What backward was called on, unscaled.
    judged
        Whether the step was found wrong: what it loses then is known.
    attempted
        Whether a scaler has stepped an optimizer, or has skipped its step.
    """

    def __init__(
        self,
        capsule: Capsule,
        retrace: Retrace,
        variation: Variation,
        unwinding: Unwinding,
        scout: Scout,
        judge: Judge,
    ) -> None:
        self.losses: list[torch.Tensor] = []
        self.judged = False
        self.attempted = False
        self._capsule = capsule
        self._retrace = retrace
        self._variation = variation
        self._unwinding = unwinding
        self._scout = scout
        self._judge = judge
        self._mine = 0

    def silent(self) -> bool:
        """Whether what runs now is our own, or comes after the weights changed."""
        return self._mine > 0 or bool(getattr(self._retrace.mode, "silent", False))

    def before_backward(self, losses: Sequence[torch.Tensor]) -> None:
        """Keep what backward is about to change."""
        with self._unseen():
            self._capsule.gradients.before_backward()
            self._note(losses)

    def _note(self, losses: Sequence[torch.Tensor]) -> None:
        if self._unwinding.insist():
            return
        if self._retrace.surveyor is not None:
            self._retrace.surveyor.note(losses)
        elif not self.judged:
            self.losses += [loss.detach().clone() for loss in losses]

    def after_backward(self) -> None:
        """Let the survey, or the breakpoints, look at the gradients."""
        with self._unseen():
            surveyor = self._retrace.surveyor
            if self._unwinding.insist():
                return
            if surveyor is not None:
                surveyor.after_backward()
            elif self._scout.points:
                self._scout.after_backward(self._capsule.trainable)

    def before_scaling(self, scaler: Any, losses: Sequence[torch.Tensor]) -> None:
        """Keep a scaler's state, and the losses in their true size."""
        with self._unseen():
            self._capsule.add_scaler(scaler)
            self._variation.before_scaling(scaler)
            self._note(losses)

    def before_scaler_step(self, scaler: Any) -> None:
        """Judge the step where a scaler that has collapsed would only skip it."""
        leaving = self._unwinding.insist(while_handled=True)
        if not leaving and not handles_overflow((scaler,)):
            self._judge.boundary()

    def before_schedule(self, scheduler: Any) -> bool:
        """Say whether a scheduler may move: not when the step is taken back."""
        if self._unwinding.insist(while_handled=True):
            return False
        with self._unseen():
            self._capsule.add_scheduler(scheduler)
        return True

    @contextlib.contextmanager
    def _unseen(self) -> Iterator[None]:
        """Keep our own operations out of the count and of the survey."""
        self._mine += 1
        try:
            with unseen(self._retrace.mode):
                yield
        finally:
            self._mine -= 1
