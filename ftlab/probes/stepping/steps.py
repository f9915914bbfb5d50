"""The step under way: its gradients are measured, it is closed, the next one begins."""

from collections.abc import Callable
from typing import Any

import torch

from ftlab.probes.adapter.adapter_layers import AdapterLayers
from ftlab.probes.optimizer.optimizers import Optimizers
from ftlab.probes.optimizer.schedulers import Schedulers
from ftlab.probes.precision.scaler import LossScaling
from ftlab.probes.probe import Moment
from ftlab.probes.probe_set import ProbeSet
from ftlab.probes.rows import RowBook
from ftlab.probes.stepping.clip import tell_left_out
from ftlab.probes.stepping.open_step import OpenStep
from ftlab.probes.subject import Subject
from ftlab.probes.tensors.reductions import l2_norms
from ftlab.probes.torch_private import versions
from ftlab.probes.watched import WatchedParameters

Versions = list[tuple[int, int] | None]


class Steps:
    """The steps of one subject, one open at a time.

    Parameters
    ----------
    subject
        What is watched.
    probes
        Called at their moments.
    book
        Ids of rows.
    ended
        Gets each step that is over.
    first_step
        Number of the first step.

    Attributes
    ----------
    adapters
        The state of the model's adapter layers.
    eager
        Measure after each backward, because the user's own code changes gradients
        before anything that we could hear.
    """

    def __init__(
        self,
        subject: Subject,
        probes: ProbeSet,
        book: RowBook,
        ended: Callable[[OpenStep], None],
        first_step: int,
    ) -> None:
        self.subject = subject
        self.now = OpenStep(first_step)
        self.watched = WatchedParameters(subject, book)
        self.adapters = AdapterLayers(subject, self.watched, book)
        self.optimizers = Optimizers(subject, self.watched)
        self.schedulers = Schedulers(subject, self.optimizers)
        self.scaling = LossScaling(self.optimizers, self.watched)
        self.eager = False
        self._looked_for_leftovers = False
        self._missing = -1
        self._probes = probes
        self._book = book
        self._ended = ended
        book.step = first_step
        self.refresh()

    @property
    def full(self) -> bool:
        """Whether the step is measured in full, or lightly to keep the budget."""
        return self._probes.budget.is_full(self.now.step)

    def close(self) -> None:
        """End the step, if an update was attempted in it, and begin the next."""
        step = self.now
        if not step.attempted:
            return
        step.read_loss()
        if step.is_spoilt():
            self.tell("on_spoilt_loss")
            self._probes.budget.look_closer(step.step + 1)
        tell_left_out(step, self.watched, self.subject)
        self._probes.close(step, self._moment)
        self.now = OpenStep(step.step + 1)
        self._book.step = step.step + 1
        self._ended(step)

    def thawed(self) -> bool:
        """Look whether others are trainable now: a backward reached none of ours."""
        before = self.watched.tensors
        self.watched.refresh(self.now.step, closely=True)
        return self.watched.tensors is not before

    def measure(self, optimizer: torch.optim.Optimizer | None = None) -> None:
        """Let the probes see the gradients; ``optimizer`` is about to step."""
        step = self.now
        if self.watched.stale:
            self.refresh()
        # What somebody writes to gradients in between is seen in full steps.
        seen = step.versions and not self.full
        found = step.versions if seen else self.versions()
        missing = found.count(None)
        if missing != self._missing:
            self.watched.refresh(step.step, closely=True)
            found = self.versions()
            missing = found.count(None)
        self._missing = missing
        if step.versions and found != step.versions:
            self.eager = True
            step.values["changed_before_read"] = 1.0
        self.scaling.read_scale(step)
        self.call("on_gradients", optimizer)
        step.measured, step.versions = True, found

    def call(
        self,
        moment: str,
        optimizer: torch.optim.Optimizer | None = None,
        *,
        changed: bool = False,
    ) -> None:
        """Call the probes that are due and keep what they read."""
        readings = self._probes.call(
            moment, self.now, lambda: self._moment(optimizer, changed)
        )
        self.now.readings |= readings

    def tell(self, moment: str, *args: Any) -> None:
        """Show the probes what was done to adapters."""
        self.now.readings |= self._probes.call(moment, self.now, self._moment, *args)

    def see_batch(self, inputs: dict[str, Any]) -> None:
        """Show the probes the inputs of a forward; the last forward counts."""
        self.now.batch = self._probes.call("on_batch", self.now, self._moment, inputs)

    def see_evaluation(self) -> None:
        """Show the probes that the model is used after an update, without a graph."""
        if self.now.over and not self.now.evaluated:
            self.now.evaluated = True
            self.tell("on_evaluation")

    def versions(self) -> Versions:
        """Tell how the gradients stand, without reading them."""
        return versions([each.grad for each in self.watched.tensors.parameters])

    def explain(self) -> None:
        """Take what was just done to the gradients as known."""
        self.now.versions = self.versions()

    def look_for_leftovers(self) -> None:
        """See, before the first backward, whether gradients are there already."""
        if self._looked_for_leftovers:
            return
        self._looked_for_leftovers = True
        gradients = [each.grad for each in self.watched.tensors.parameters]
        left = [each for each in gradients if each is not None]
        # The only read that waits for the device.
        if left and bool((l2_norms(left) != 0).any()):
            self.now.values["partial"] = 1.0

    def refresh(self) -> None:
        """Look for parameters that came, went, were frozen or unfrozen."""
        self.watched.refresh(self.now.step)

    def _moment(
        self, optimizer: torch.optim.Optimizer | None = None, changed: bool = False
    ) -> Moment:
        inverse = self.scaling.inverse(self.now, optimizer)
        tensors, name, step = self.watched.tensors, self._book.name, self.now.step
        return Moment(step, self.subject, tensors, inverse, name, changed, self.full)
