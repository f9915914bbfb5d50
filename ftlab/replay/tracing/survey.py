"""One traced execution of a step that finds where its non-finite values come from."""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from ftlab.replay.breakpoints.sought import LOSS, Sought
from ftlab.replay.capsules.inputs import KeptInputs, named_tensors
from ftlab.replay.control import Command, Rewind, SurveyOver
from ftlab.replay.route import destination
from ftlab.replay.stops.report import Link, digits, module_words
from ftlab.replay.stops.verdict import Named, bad_gradients, scalar_results
from ftlab.replay.tracing.compiled import run_eagerly
from ftlab.replay.tracing.finite import all_finite
from ftlab.replay.tracing.lineage import Lineage
from ftlab.replay.tracing.modules import ModuleStack, clean_name, quantization_tensors
from ftlab.replay.tracing.origin import Origin, Origins, Source
from ftlab.replay.tracing.runner import unseen
from ftlab.replay.tracing.site import Site
from ftlab.replay.tracing.tracer import OpTracer
from ftlab.replay.trials.changing import CallCounter

EXECUTED_AGAIN = (
    "ftlab.debug was executing this step again when it failed; the first execution "
    "came through. A step must do the same whenever it is called with the same batch."
)


@dataclass(slots=True)
class Survey:
    """What a traced execution saw.

    Attributes
    ----------
    sites
        All operations up to the end of the step, in order.
    origin
        Where what is non-finite at the end was born; ``None`` if nothing is, or if it
        cannot be told.
    losses
        What backward was called on.
    parameters
        Parameters whose gradient was non-finite when backward was over.
    lineage
        Who read from whom.
    moved
        What the step had changed before and nobody could put back.
    """

    sites: Sequence[Site]
    lineage: Lineage
    origin: Origin | None = None
    losses: Sequence[torch.Tensor] = ()
    parameters: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()

    def outcome(self) -> str:
        """Say in words whether the step is in order."""
        if self.origin is not None and self.origin.index >= 0:
            site = self.sites[self.origin.index]
            line = site.user_line or site.library_line
            where = f"{site.op} {site.index}, {module_words(site)}, {line}"
            return f"still non-finite, from {where}"
        if self.parameters or not all_finite(self.losses):
            return "still non-finite"
        loss = ", ".join(digits(float(loss.float().mean())) for loss in self.losses)
        return f"gone: loss {loss}, all gradients finite"

    def chain(self, index: int) -> tuple[Link, ...]:
        """Return what led to the operation at ``index``, see `Lineage.chain`."""
        return tuple(
            Link(
                link.range.facts(),
                self.sites[link.index] if link.index >= 0 else None,
                link.name,
            )
            for link in self.lineage.chain(index)
        )

    def target(self, rewind: Rewind) -> int | None:
        """Return the operation to stop at when the step was left with ``rewind``."""
        end = len(self.sites)
        if rewind.sought is not None:
            found = rewind.sought.next()
            return end if found is None and rewind.sought.noticed else found
        if isinstance(rewind.target, Command):
            return destination(self.sites, end, rewind.target)
        if rewind.target is not None:
            return rewind.target
        found = -1 if self.origin is None else self.origin.index
        return end if found < 0 else found


@dataclass
class Surveyor:
    """Makes a `Survey` of one step.

    Attributes
    ----------
    model, trainable, inputs
        What is trained, and what the step is called with.
    insist
        Raises when the step should have been left, see `Unwinding.insist`.
    numbered
        Let each operation know the call of a torch function that issued it.
    sought
        Breakpoints whose places are to be found.
    """

    model: torch.nn.Module
    trainable: Named
    inputs: KeptInputs
    insist: Callable[[], bool]
    numbered: bool = False
    sought: Sought | None = None
    origins: Origins = field(default_factory=Origins)
    lineage: Lineage = field(default_factory=Lineage)
    tracer: OpTracer | None = None
    _losses: list[torch.Tensor] = field(default_factory=list)
    _copies: list[torch.Tensor] = field(default_factory=list)
    _parameters: tuple[str, ...] = ()
    _ends: dict[str, int] = field(default_factory=dict)

    def run(self, step: Callable[[], Any]) -> Survey:
        """Execute ``step`` under the tracer until it returns or raises `SurveyOver`."""
        self._register()
        with ModuleStack(self.model) as modules:
            calls = self._counter() if self.numbered else None
            look = None if self.sought is None else self.sought.look
            self.tracer = OpTracer(
                modules, self.origins, self.lineage, self.insist, calls=calls, look=look
            )
            counting = contextlib.nullcontext() if calls is None else calls
            try:
                with (
                    contextlib.suppress(SurveyOver),
                    run_eagerly(),
                    counting,
                    self.tracer,
                ):
                    self._note_result(step())
            except Exception as error:
                error.add_note(EXECUTED_AGAIN)
                raise
        if self.sought is not None:
            self._note_ends()
            self.sought.settle(self.tracer.sites, self.lineage, self._ends)
        return Survey(
            sites=self.tracer.sites,
            lineage=self.lineage,
            origin=self._first_run(self._origin()),
            losses=self._copies,
            parameters=self._parameters or bad_gradients(self.trainable),
        )

    def _note_ends(self) -> None:
        """Note what made the loss and the gradients, before something clips these."""
        for name, parameter in self.trainable:
            if parameter.grad is not None and name not in self._ends:
                self._ends[name] = self.lineage.writer_of(parameter.grad)
        if self._losses:
            self._ends[LOSS] = self.lineage.writer_of(self._losses[-1])

    def _counter(self) -> CallCounter:
        return CallCounter(lambda: self.tracer is None or self.tracer.silent)

    def note(self, losses: Sequence[torch.Tensor]) -> None:
        """Note what backward begins from, unscaled."""
        self._losses += losses
        self._copies += [loss.detach().clone() for loss in losses]

    def _note_result(self, result: Any) -> None:
        """Take what the step returned for its loss if it called no backward."""
        if not self._losses:
            with unseen(self.tracer):
                self.note(scalar_results(result))

    def after_backward(self) -> None:
        """Note the gradients before clipping spreads what is in one over all."""
        if self.sought is not None:
            self._ends = {}
            self._note_ends()
        if not self._parameters:
            self._parameters = bad_gradients(self.trainable)

    def _origin(self) -> Origin | None:
        named = dict(self.trainable)
        gradients = [named[name].grad for name in self._parameters if name in named]
        gradients = gradients or [p.grad for p in named.values()]
        if not all_finite(self._losses):
            # What made the loss may be unseen, another thread for example. The first
            # bad gradient would be a consequence then.
            return self.origins.trace(self._losses)
        return self.origins.trace([grad for grad in gradients if grad is not None])

    def _first_run(self, origin: Origin | None) -> Origin | None:
        """Lead from what a checkpoint computed again to where it was computed first."""
        if origin is None or self.tracer is None or origin.index < 0:
            return origin
        sites = self.tracer.sites
        again = sites[origin.index]
        if again.phase != "recompute":
            return origin
        place = (again.op, again.module, again.library_line)
        first = (
            site.index
            for site in sites[: origin.index]
            if (site.op, site.module, site.library_line) == place
            and self.lineage.is_non_finite(site.index)
        )
        return replace(origin, index=next(first, origin.index))

    def _register(self) -> None:
        for name, parameter in self.model.named_parameters():
            self._name("parameter", clean_name(name), parameter)
            for tensor in quantization_tensors(parameter):
                self._name("parameter", clean_name(name), tensor)
            if parameter.grad is not None:
                self._name("gradient", clean_name(name), parameter.grad)
        for name, buffer in self.model.named_buffers():
            self._name("buffer", clean_name(name), buffer)
        for place, tensor in named_tensors((self.inputs.args, self.inputs.kwargs)):
            if not isinstance(tensor, torch.nn.Parameter):
                self._name("batch", place or "its tensor", tensor)

    def _name(self, source: Source, name: str, tensor: torch.Tensor) -> None:
        self.origins.register(source, name, tensor)
        self.lineage.register(source, name, tensor)
