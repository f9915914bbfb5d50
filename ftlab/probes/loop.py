"""What the operations that taps see mean: where a step begins, is measured and ends.

A *step* is an attempt to update the weights. It ends when the next forward with a graph
or the next backward begins after an optimizer has stepped or was skipped, or when the
same optimizer steps again; scheduler steps and cleared gradients in between belong to
the step before. Several optimizers that step after one backward are one step.

A backward counts when it changed a gradient of a watched parameter; so the backward of
another model (the discriminator of a GAN) does not. When an optimizer steps and no
backward counted, those that changed nothing are counted after all: they are a loop
whose gradients do not arrive.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from ftlab.probes.backward import Backward
from ftlab.probes.clip import begin_clip, end_clip
from ftlab.probes.open_step import OpenStep
from ftlab.probes.optimizers import Optimizers
from ftlab.probes.probe import Moment
from ftlab.probes.probe_set import ProbeSet
from ftlab.probes.rows import RowBook
from ftlab.probes.scaler import LossScaling, read_new_scale, read_overflow
from ftlab.probes.subject import Subject
from ftlab.probes.torch_private import is_within_backward, overflow_seen_by, versions
from ftlab.probes.watched import WatchedParameters

Versions = list[tuple[int, int] | None]


class Loop:
    """Listens to the taps of one subject.

    Parameters
    ----------
    subject
        What is watched; operations on anything else are passed over.
    probes
        Called at their moments.
    book
        Ids of rows.
    ended
        Gets each step that is over.
    clock
        Unix time in seconds.
    """

    def __init__(
        self,
        subject: Subject,
        probes: ProbeSet,
        book: RowBook,
        ended: Callable[[OpenStep], None],
        *,
        first_step: int = 0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.subject = subject
        self.step = OpenStep(first_step)
        self.watched = WatchedParameters(subject, book)
        self.optimizers = Optimizers(subject, self.watched)
        self.scaling = LossScaling(self.optimizers, self.watched)
        self._probes = probes
        self._book = book
        self._ended = ended
        self._clock = clock
        self._backward = Backward()
        self._unclaimed: list[torch.Tensor | None] = []
        self._hears_forward = False
        self._eager = False
        self._looked_for_leftovers = False
        self._clip: dict[str, Any] | None = None
        self._refresh()

    # --- forward and backward

    def on_forward(
        self, module: torch.nn.Module, inputs: Mapping[str, Any], graph: bool
    ) -> None:
        """Begin a step or a micro-batch; see `Listener` for when this is called."""
        if is_within_backward():  # a checkpoint computes again
            return
        if graph and self.step.over:
            self.close()
        step, training = self.step, module.training
        mode = "train" if training else "eval"
        step.ledger.add("forward", "model", mode=mode, grad_enabled=graph)
        # An evaluation that keeps graphs is no micro-batch: a forward in train mode
        # that follows it takes its place.
        if graph and (not step.forwarded or (training and not step.trained)):
            self._hears_forward = step.forwarded = True
            step.trained = training
            step.batch = self._probes.call("on_batch", step, self._moment, dict(inputs))

    def before_backward(self, losses: Sequence[Any], weights: Sequence[Any]) -> None:
        """Note how the gradients stand."""
        self._refresh()
        self._backward = Backward(losses, weights, self._versions())
        if not self._looked_for_leftovers:
            self._looked_for_leftovers = True
            gradients = (each.grad for each in self.watched.tensors.parameters)
            # The only read that waits for the device: once, at the first backward.
            if any(bool(each.any()) for each in gradients if each is not None):
                self.step.values["partial"] = 1.0

    def after_backward(self) -> None:
        """Count the backward if it concerned the watched model."""
        backward, self._backward = self._backward, Backward()
        now = self._versions()
        loss = backward.loss()
        loss = None if loss is None else self.scaling.true_loss(loss)
        if now != backward.versions or backward.updated:
            self._count(loss, now, backward)
        else:
            self._unclaimed.append(loss)
            self.scaling.pending = None

    def _count(
        self, loss: torch.Tensor | None, now: Versions, backward: Backward
    ) -> None:
        if self.step.over and not backward.updated:
            self.close()
        step = self.step
        self._unclaimed.clear()
        if step.forwarded or not self._hears_forward or not step.micro_batches:
            step.micro_batches += 1
        step.losses.append(loss)
        step.ledger.add("backward", "loss", micro=step.micro_batches - 1)
        step.end_micro_batch()
        step.scaler = step.scaler or self.scaling.pending
        step.measured, step.versions = False, now
        if self._eager:
            self._measure()

    def _claim(self) -> None:
        """Count backwards that changed no gradient, now that an update follows."""
        if self.step.micro_batches or not self._unclaimed:
            return
        now = self._versions()
        for loss in tuple(self._unclaimed):
            self._count(loss, now, Backward())

    # --- the update

    def before_step(self, optimizer: torch.optim.Optimizer, closure: bool) -> None:
        """Measure what has not been measured, just before the weights change."""
        index = self.optimizers.index(optimizer)
        if index is None:
            return
        if is_within_backward():
            self._update_within_backward(optimizer, index)
            return
        if id(optimizer) in self.step.attempted:
            self.close()
        if not closure:
            self._claim()
        step = self.step
        first = not step.attempted
        entry = self._attempt(optimizer, index, "step")
        step.updating = True
        overflow = overflow_seen_by(optimizer)
        if overflow is not None:
            read_overflow(step, index, overflow, entry)
        changed = step.measured and self._versions() != step.versions
        if not step.measured and (step.micro_batches or not closure):
            self._measure(optimizer)
        if first:
            look = self._looking(optimizer, changed=changed)
            step.readings |= self._probes.call("before_update", step, look)

    def after_step(self, optimizer: torch.optim.Optimizer) -> None:
        """Look at the new weights; with a closure, at the gradients too."""
        step = self.step
        if id(optimizer) not in step.attempted or is_within_backward():
            return
        step.updating = False
        step.draft["time"] = self._clock()
        self.scaling.pending = None
        if not step.measured and step.micro_batches:
            self._measure()
        step.readings |= self._probes.call("after_update", step, self._moment)

    def _attempt(self, optimizer: Any, index: int, op: str) -> dict[str, Any]:
        step = self.step
        step.attempted.add(id(optimizer))
        step.draft["time"] = self._clock()
        self.optimizers.read_rates(step)
        rates = step.draft["lr"]
        return step.ledger.add(op, f"optimizer {index}", lr=list(rates))

    def _update_within_backward(self, optimizer: Any, index: int) -> None:
        """See an optimizer that steps from a gradient hook.

        The gradients are complete for one parameter at a time only and are cleared at
        once: they are not measured.
        """
        if id(optimizer) in self.step.attempted:
            self.close()
        self._backward.updated = True
        self._attempt(optimizer, index, "step")
        self.step.values["updated_within_backward"] = 1.0

    def on_zero_grad(self, owner: Any) -> None:
        """Note that gradients were cleared on purpose."""
        if isinstance(owner, torch.nn.Module):
            mine = self.watched.holds_any(list(owner.parameters()))
            target = "model" if mine else None
        else:
            index = self.optimizers.index(owner)
            target = None if index is None else f"optimizer {index}"
        if target is not None:
            self.step.ledger.add("zero_grad", target)
            self.step.versions = self._versions()

    # --- loss scaling

    def on_scale(self, scaler: Any) -> None:
        """Remember which scaler the next backward's loss went through."""
        self.scaling.pending = scaler

    def after_unscale(self, scaler: Any, optimizer: Any) -> None:
        """Measure the gradients, now in true scale, once all of them are."""
        index = self.optimizers.index(optimizer)
        if index is None:
            return
        step = self.step
        self._claim()
        step.unscaled.add(id(self.subject.optimizers[index]))
        step.ledger.add("unscale", f"optimizer {index}")
        self._explain()
        if not step.measured and self.scaling.all_unscaled(step):
            self._measure()

    def before_scaler_step(self, scaler: Any, optimizer: Any) -> None:
        """Begin a new step when this optimizer has had its turn in this one."""
        index = self.optimizers.index(optimizer)
        if index is not None and id(self.subject.optimizers[index]) in (
            self.step.attempted
        ):
            self.close()

    def after_scaler_step(self, scaler: Any, optimizer: Any) -> None:
        """See that the scaler did not step the optimizer."""
        index = self.optimizers.index(optimizer)
        if index is None:
            return
        if self.subject.scaler is None:
            self.subject.scaler = scaler
        inner = self.subject.optimizers[index]
        if id(inner) not in self.step.attempted:
            if not self.step.measured:
                self._measure()
            self._attempt(inner, index, "skip")
            self.step.draft["skipped"] = True
        self.scaling.pending = None

    def after_scaler_update(self, scaler: Any) -> None:
        """Note the new scale."""
        if scaler is self.step.scaler or scaler is self.subject.scaler:
            read_new_scale(self.step, scaler)

    # --- clipping and schedules

    def before_clip(self, parameters: Sequence[torch.Tensor], how: Any) -> None:
        """Measure the gradients while they are still whole."""
        covered = len({id(each) for each in parameters} & self.watched.members)
        self._clip = None
        if not covered:
            return
        self._claim()
        step = self.step
        if not step.measured:
            self._measure()
        scaled = step.scaler is not None and not step.unscaled
        of = len(self.watched.members)
        self._clip = begin_clip(step, how, count=covered, of=of, scaled=scaled)

    def after_clip(self, total_norm: torch.Tensor | None) -> None:
        """Note the norm that torch found."""
        entry, self._clip = self._clip, None
        if entry is not None:
            end_clip(self.step, entry, total_norm)
            self._explain()

    def on_scheduler_step(self, scheduler: Any, before: Any, after: Any) -> None:
        """Note how a scheduler of ours moved the learning rates."""
        if self.optimizers.index(scheduler.optimizer) is None:
            return
        known = self.subject.schedulers
        if not any(each is scheduler for each in known):
            known.append(scheduler)
        index = next(i for i, each in enumerate(known) if each is scheduler)
        rates = {"lr_before": list(before), "lr_after": list(after)}
        self.step.ledger.add("scheduler_step", f"scheduler {index}", **rates)

    # --- measuring

    def close(self) -> None:
        """End the step, if an update was attempted in it, and begin the next."""
        step = self.step
        if not step.attempted:
            return
        step.read_loss()
        self._probes.close(step, self._moment)
        self.step = OpenStep(step.step + 1)
        self._book.step = step.step + 1
        self._unclaimed.clear()
        self._ended(step)

    def _measure(self, optimizer: torch.optim.Optimizer | None = None) -> None:
        step = self.step
        if self.watched.stale:
            self._refresh()
        now = self._versions()
        if step.versions and now != step.versions:
            # From now on measure after each backward, before the user's own code
            # can change the gradients again.
            self._eager = True
            step.values["changed_before_read"] = 1.0
        self.scaling.read_scale(step)
        look = self._looking(optimizer)
        step.readings |= self._probes.call("on_gradients", step, look)
        step.measured, step.versions = True, now

    def _moment(self) -> Moment:
        return self._look(None, False)

    def _looking(
        self, optimizer: torch.optim.Optimizer | None, *, changed: bool = False
    ) -> Callable[[], Moment]:
        return lambda: self._look(optimizer, changed)

    def _look(self, optimizer: torch.optim.Optimizer | None, changed: bool) -> Moment:
        inverse = self.scaling.inverse(self.step, optimizer)
        tensors, name = self.watched.tensors, self._book.name
        return Moment(self.step.step, self.subject, tensors, inverse, name, changed)

    def _versions(self) -> Versions:
        return versions([each.grad for each in self.watched.tensors.parameters])

    def _explain(self) -> None:
        self.step.versions = self._versions()

    def _refresh(self) -> None:
        self.watched.refresh(self.step.step)
