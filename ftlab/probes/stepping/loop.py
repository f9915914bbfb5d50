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

import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from ftlab.probes.precision.scaler import read_overflow
from ftlab.probes.precision.scaler_work import ScalerWork
from ftlab.probes.stepping.accumulating import tell_where
from ftlab.probes.stepping.backward import UNCLAIMED, Backward
from ftlab.probes.stepping.carried import CarriedGradients, is_due
from ftlab.probes.stepping.discarded import DiscardedGradients
from ftlab.probes.stepping.open_step import OpenStep
from ftlab.probes.stepping.steps import Steps, Versions
from ftlab.probes.stepping.unheard import UnheardUpdates
from ftlab.probes.tokens.generation_work import GenerationWork
from ftlab.probes.torch_private import (
    is_within_backward,
    overflow_seen_by,
)
from ftlab.records.errors import FtlabWarning

_AT_ONCE = (
    "Several threads train one model at once, so the losses of some steps are missing "
    "in the log, and torch mixes their gradients. Train in one thread, or give each "
    "thread a model of its own."
)


class Loop(ScalerWork, GenerationWork):
    """Listens to the taps of one subject.

    Parameters
    ----------
    steps
        The subject's steps; operations on anything else are passed over.
    sink
        Gets what belongs to no step.
    clock
        Unix time in seconds.
    """

    def __init__(
        self,
        steps: Steps,
        sink: Callable[[Any], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__()
        self._subject = steps.subject
        self._steps = steps
        self._optimizers = steps.optimizers
        self._scaling = steps.scaling
        self._clock = clock
        self._backward = Backward()
        self._unclaimed: deque[torch.Tensor | None] = deque(maxlen=UNCLAIMED)
        self._thread: int | None = None
        self._forwards: dict[int, int] = {}
        self._told = False
        self._carried = CarriedGradients(steps.watched)
        self._discarded = DiscardedGradients(steps.watched)
        self._unheard = UnheardUpdates(self._subject.model, steps.watched, sink)

    @property
    def step(self) -> OpenStep:
        """The step under way."""
        return self._steps.now

    @property
    def stamp(self) -> tuple[int, int]:
        """How often the parameters have changed, and the state of the adapters."""
        return self._steps.watched.changes, self._steps.adapters.number

    def close(self) -> None:
        """End the step, if an update was attempted in it."""
        self.settle()
        self._steps.close()

    def end(self, first_step: int) -> None:
        """Close the last step; ``first_step`` is the number of the first."""
        self._steps.tell("on_handover")
        self.close()
        self._unheard.on_end(self.step, first_step)

    def let_go(self) -> None:
        """Keep no parameter alive: watching is over."""
        self._steps.watched.let_go()

    def is_here(self) -> bool:
        """Whether the calling thread is the one that trains, outside of backward."""
        return self._thread == threading.get_ident() and not is_within_backward()

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
        detail: dict[str, Any] = {"mode": mode, "grad_enabled": graph}
        if training and not graph and inputs.get("labels") is not None:
            detail["labels"] = True  # a loss is measured, not a reference's output
        self.combination.used(inputs.get("adapter_names") or ())
        self.note("forward", "model", **detail)
        if not graph:
            self._steps.see_evaluation()
            return
        # An evaluation that keeps graphs is no micro-batch: a forward in train mode
        # that follows it takes its place.
        here = threading.get_ident()
        self._forwards[here] = step.step
        # Somebody's look in one thread is not the training that begins in another.
        begun = step.micro_batches or self._thread in (None, here)
        if not step.forwarded or (training and not (step.trained and begun)):
            self._thread = here
            step.forwarded = True
            step.trained = training
            self._steps.see_batch(dict(inputs))
        else:
            self._steps.tell("on_further_forward", inputs)

    def before_backward(self, losses: Sequence[Any], weights: Sequence[Any]) -> None:
        """Note how the gradients stand."""
        if self._is_elsewhere():
            return
        self._steps.refresh()
        self._carried.before_backward()
        self._discarded.before_backward(self.step)
        times = self._scaling.times(losses)
        self._backward = Backward(losses, weights, self._steps.versions(), times)
        self._backward.plain = self._scaling.plain(losses)
        if is_due(self.step.step):
            self._backward.look_closely()
        self._steps.look_for_leftovers()

    def after_backward(self) -> None:
        """Count the backward if it concerned the watched model."""
        if self._is_elsewhere():
            return
        backward, self._backward = self._backward, Backward()
        now = self._steps.versions()
        loss = backward.loss()
        if backward.plain is not None:
            loss = backward.plain
        elif loss is not None and backward.scaled != 0:
            loss = self._scaling.true_loss(loss)
        if now == backward.versions and self._steps.thawed():
            now = self._steps.versions()
        if now != backward.versions or backward.updated:
            self._count(loss, now, backward)
        else:
            self._unclaimed.append(loss)
            self._scaling.pending = None

    def _count(
        self, loss: torch.Tensor | None, now: Versions, backward: Backward
    ) -> None:
        if self.step.over and not backward.updated:
            self.close()
        step = self.step
        self._unclaimed.clear()
        if step.forwarded or self._thread is None or not step.micro_batches:
            step.micro_batches += 1
        step.add_loss(loss)
        backward.tell(step, self._note_backward(backward))
        self._discarded.after_backward()
        step.end_micro_batch()
        step.scaler = step.scaler or self._scaling.pending
        step.measured, step.versions = False, now
        step.rescaled.clear()
        if self._steps.eager:
            self._steps.measure()
        self._unheard.on_backward(step, backward.weight.divided)

    def _note_backward(self, backward: Backward) -> dict[str, Any]:
        detail = {} if backward.scaled is None else {"scaled": backward.scaled}
        return self.note("backward", "loss", micro=self.step.micro_batch, **detail)

    def _is_elsewhere(self) -> bool:
        """Whether another thread ran the last forward: two models may train in two."""
        here = threading.get_ident()
        if self._thread in (None, here):
            return False
        if self._forwards.get(here) == self.step.step and not self._told:
            self._told = True
            warnings.warn(_AT_ONCE, FtlabWarning, stacklevel=2)
        return True

    def _claim(self) -> None:
        """Count backwards that changed no gradient, now that an update follows."""
        if self.step.micro_batches or not self._unclaimed:
            return
        now = self._steps.versions()
        for loss in tuple(self._unclaimed):
            self._count(loss, now, Backward())

    # --- the update

    def before_step(self, optimizer: torch.optim.Optimizer, closure: bool) -> None:
        """Measure what has not been measured, just before the weights change."""
        index = self._optimizers.index(optimizer)
        if index is None:
            self._discarded.before_step(self.step, judged=False)
            return
        if is_within_backward():
            self._update_within_backward(index)
            return
        if index in self.step.attempted:
            self.close()
        if not closure:
            self._claim()
        step = self.step
        first = not step.attempted
        entry = self._attempt(index, "step")
        tell_where(entry, within=step.updating)
        step.updating = True
        self._carried.before_step(index, step, closure=closure)
        overflow = overflow_seen_by(optimizer)
        if overflow is not None:
            read_overflow(step, index, overflow, entry)
        changed = step.measured and self._steps.versions() != step.versions
        self._discarded.before_step(step, judged=not (closure or changed))
        if not step.measured and (step.micro_batches or not closure):
            self._steps.measure(optimizer)
        if first:
            self._steps.call("before_update", optimizer, changed=changed)

    def after_step(self, optimizer: torch.optim.Optimizer) -> None:
        """Look at the new weights; with a closure, at the gradients too."""
        step, index = self.step, self._optimizers.known(optimizer)
        if index not in step.attempted or is_within_backward():
            return
        step.updating = False
        self._carried.after_step(index, optimizer, step)
        step.draft["time"] = self._clock()
        self._after_update()
        if not step.measured and step.micro_batches:
            self._steps.measure()
        self._steps.call("after_update")

    def _attempt(self, index: int, op: str) -> dict[str, Any]:
        step = self.step
        step.attempted.add(index)
        self._unheard.on_update()
        step.draft["time"] = self._clock()
        self._optimizers.read_rates(step)
        rates = list(step.draft["lr"])
        how = self._past_scaler(step) if op == "step" else {}
        return self.note(op, f"optimizer {index}", lr=rates, **how)

    def _after_update(self) -> None:
        """Forget what was waiting for this update."""
        self.weights_updated()
        self._scaling.forget()
        self._unclaimed.clear()

    def _update_within_backward(self, index: int) -> None:
        """See an optimizer that steps from a gradient hook; its gradients are gone.

        They are complete for one parameter at a time only, and not measured.
        """
        if index in self.step.attempted:
            self.close()
        self._backward.updated = True
        self._attempt(index, "step")
        self.step.values["updated_within_backward"] = 1.0

    def on_zero_grad(self, owner: Any) -> None:
        """Note that gradients were cleared on purpose."""
        if isinstance(owner, torch.nn.Module):
            target = "model" if self._steps.watched.is_mine(owner) else None
        else:
            index = self._optimizers.index(owner)
            target = None if index is None else f"optimizer {index}"
        if target is not None:
            self._carried.on_zero_grad(owner)
            self._discarded.on_zero_grad()
            self._unheard.on_zero_grad()
            self.step.ledger.add("zero_grad", target)
            if not self.step.attempted.issuperset(self._subject.live_optimizers):
                self._steps.explain()  # another one is still to step

    def on_held_step(self, optimizer: Any) -> None:
        """Note that accelerate has left out a step of an optimizer of ours."""
        index = self._optimizers.index(optimizer)
        if index is not None:
            self._unheard.on_held_step(index)

    def _skipped(self, index: int) -> None:
        """See that a scaler did not step an optimizer."""
        self._attempt(index, "skip")
        self._discarded.before_step(self.step, judged=False)
        self.step.draft["skipped"] = True

    # --- schedules

    def on_scheduler_step(
        self, scheduler: Any, before: Any, after: Any, metric: float | None
    ) -> None:
        """Note how a scheduler of ours moved the learning rates."""
        self._steps.schedulers.note(self.step, scheduler, before, after, metric)
