"""One optimizer step: looked at when it is over, and run again where it went wrong.

Gradients that are finite can still make weights or moments that are not: a variance
that overflows, an epsilon that underflows. After each step the debugger looks at what
the optimizer has written. When something became non-finite, weights and state are put
back and the optimizer runs again under the tracer, as the step itself does.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import torch

from ftlab.replay.capsules.update_capsule import UpdateCapsule, held, updated_tensors
from ftlab.replay.control import Abort, Command, Rewind
from ftlab.replay.route import destination
from ftlab.replay.stops.report import PauseReport
from ftlab.replay.stops.stop import Stop, at_op
from ftlab.replay.torch_private import bare_step, storage_key
from ftlab.replay.tracing.finite import all_finite, non_finite, tensor_leaves
from ftlab.replay.tracing.lineage import Lineage
from ftlab.replay.tracing.modules import ModuleStack, clean_name
from ftlab.replay.tracing.origin import Origins, Source
from ftlab.replay.tracing.runner import OpStop, StepRunner
from ftlab.replay.tracing.survey import Survey
from ftlab.replay.tracing.tracer import OpTracer

Key = tuple[int, str]
"""A weight, or an entry of its state: ``id`` of the parameter, and the entry's name."""


@dataclass(frozen=True, slots=True)
class Written:
    """A weight, or an entry of its state, that a step may have written."""

    key: Key
    tensor: torch.Tensor


def written(optimizer: torch.optim.Optimizer, without: set[Key]) -> list[Written]:
    """List what a step of ``optimizer`` writes, ``without`` what is known to be bad."""
    found = [
        Written((id(p), state), each) for p, state, each in updated_tensors(optimizer)
    ]
    return [each for each in found if each.key not in without]


class UpdateCall:
    """A step that an optimizer is about to make.

    Parameters
    ----------
    optimizer
        It steps.
    args, kwargs
        What its ``step`` is called with, itself included.
    known
        What was non-finite before; completed by `broken`.
    budget
        Bytes that copies of weights and state may take.
    """

    def __init__(
        self,
        optimizer: torch.optim.Optimizer,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        known: set[Key],
        budget: int,
    ) -> None:
        self.optimizer = optimizer
        self._step = functools.partial(bare_step(optimizer), *args, **kwargs)
        self._known = known
        self._size = UpdateCapsule.bytes_of(optimizer)
        self._budget = budget
        affordable = self._size <= budget
        self._capsule = UpdateCapsule(optimizer) if affordable else None

    @property
    def capsule(self) -> UpdateCapsule | None:
        """The copies; ``None`` when they would take too much memory."""
        return self._capsule

    def broken(self) -> list[Written]:
        """Return what the step has made non-finite out of finite gradients."""
        looked_at = written(self.optimizer, self._known)
        if self._capsule is None:  # reading the moments too would cost twice as much
            looked_at = [each for each in looked_at if not each.key[1]]
        if all_finite(each.tensor for each in looked_at):
            return []
        bad = [each for each in looked_at if non_finite(each.tensor) is not None]
        self._known |= {each.key for each in bad}
        gradients = [p.grad for p in held(self.optimizer) if p.grad is not None]
        return bad if all_finite(gradients) else []

    def obstacle(self) -> str | None:
        """Say why the step cannot run again, if so."""
        if self._capsule is None:
            return (
                f"copies of the weights and the optimizer's state take {self._size:,} "
                f"bytes and memory_budget is {self._budget:,}; pass "
                f"debug(..., memory_budget={self._size})"
            )
        return self._capsule.obstacle()

    def explore(
        self,
        bad: Sequence[Written],
        model: torch.nn.Module,
        blank: PauseReport,
        pause: Callable[[Stop], Command],
    ) -> None:
        """Stop where the step went wrong; what runs last is the real step."""
        names = dict.fromkeys((each.key[0] for each in bad), "(unnamed)")
        names |= {id(p): clean_name(name) for name, p in model.named_parameters()}
        obstacle = self.obstacle()
        if self._capsule is None or obstacle is not None:
            pause(Stop(_at_end(blank, bad, names, obstacle or ""), None))
            return
        replay = _UpdateReplay(self._capsule, self._step, model, names, blank, pause)
        replay.run(bad)


class _UpdateReplay:
    """The replays of one optimizer step."""

    def __init__(
        self,
        capsule: UpdateCapsule,
        step: Callable[[], Any],
        model: torch.nn.Module,
        names: dict[int, str],
        blank: PauseReport,
        pause: Callable[[Stop], Command],
    ) -> None:
        self._capsule = capsule
        self._step = step
        self._model = model
        self._names = names
        self._blank = blank
        self._pause = pause
        self._survey = Survey([], Lineage())

    def run(self, bad: Sequence[Written]) -> None:
        self._survey = self._look(bad)
        found = self._survey.origin
        if found is None:
            why = "run again, no operation that torch shows made it"
            self._pause(Stop(_at_end(self._blank, bad, self._names, why), None))
            return
        target, reason = found.index, "anomaly"
        while True:
            self._capsule.restore()
            runner = StepRunner(
                self._survey.sites,
                target,
                reason,
                self._stop,
                interrupted=lambda: False,
                insist=lambda: False,
            )
            try:
                with runner:
                    self._step()
            except Rewind as rewind:
                target, reason = cast("int", rewind.target), rewind.reason
            except Abort:
                self._capsule.restore()
                raise
            else:
                return

    def _look(self, bad: Sequence[Written]) -> Survey:
        self._capsule.restore()
        optimizer = self._capsule.optimizer
        origins, lineage = Origins(), Lineage()
        for parameter, state, tensor in updated_tensors(optimizer):
            source: Source = "state" if state else "parameter"
            name = self._names.get(id(parameter), "(unnamed)")
            label = f"{state} of {name}" if state else name
            origins.register(source, name, tensor)
            lineage.register(source, label, tensor)
            if not state and parameter.grad is not None:
                origins.register("gradient", name, parameter.grad)
                lineage.register("gradient of", name, parameter.grad)
        tracer = OpTracer(
            ModuleStack(self._model), origins, lineage, lambda: False, "optimizer"
        )
        with tracer:
            self._step()
        # What the first run had added to the state is made anew.
        made = {each.key: each.tensor for each in written(optimizer, without=set())}
        keys = [each.key for each in bad if each.key in made]
        weights = [made[key] for key in keys if not key[1]]
        states = [made[key] for key in keys if key[1]]
        origin = origins.trace(weights) or origins.trace(states)
        return Survey(tracer.sites, lineage, origin)

    def _stop(self, stop: OpStop) -> int | None:
        report = replace(self._blank, operations=len(self._survey.sites))
        report = at_op(report, stop, self._survey)
        kind, name = self._affected(stop)
        report = replace(report, kind=kind, name=name)
        command = self._pause(Stop(report, None, stop, self._survey.sites))
        if command.verb == "resume":
            return None
        target = destination(self._survey.sites, stop.site.index, command)
        if command.verb == "back":
            raise Rewind(target, "back")
        return target if target < len(self._survey.sites) else None

    def _affected(self, stop: OpStop) -> tuple[str, str]:
        """Say whether an op writes a weight or its state, and whose."""
        outputs = tensor_leaves(stop.outputs)
        bad = [tensor for tensor in outputs if non_finite(tensor) is not None]
        keys = {storage_key(tensor) for tensor in bad or outputs}
        origin = self._survey.origin
        for parameter, state, tensor in updated_tensors(self._capsule.optimizer):
            if storage_key(tensor) in keys:
                kind = "state" if state else "optimizer"
                return kind, self._names.get(id(parameter), "(unnamed)")
        return "optimizer", "" if origin is None else origin.name


def _at_end(
    blank: PauseReport, bad: Sequence[Written], names: dict[int, str], why: str
) -> PauseReport:
    first = bad[0]
    return replace(
        blank,
        what=non_finite(first.tensor) or "",
        kind="state" if first.key[1] else "optimizer",
        name=names[first.key[0]],
        notes=(f"It cannot be located: {why}.",),
        replayable=False,
    )
