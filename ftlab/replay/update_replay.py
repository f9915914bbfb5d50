"""The replays of one optimizer step: where it went wrong, and what a change would do.

Who calls whom: `ftlab.replay.update` has found that a step made something non-finite,
and runs an `UpdateReplay`. That surveys the step, stops where it went wrong, and runs
it again for every command that needs it; what runs last is the real step.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import torch

from ftlab.replay.capsules.update_capsule import UpdateCapsule, updated_tensors
from ftlab.replay.control import Abort, Command, Rewind
from ftlab.replay.route import destination
from ftlab.replay.stops.report import PauseReport, digits
from ftlab.replay.stops.stop import Stop, at_op
from ftlab.replay.torch_private import storage_key
from ftlab.replay.tracing.finite import non_finite, tensor_leaves
from ftlab.replay.tracing.lineage import Lineage
from ftlab.replay.tracing.modules import ModuleStack
from ftlab.replay.tracing.origin import Origins, Source
from ftlab.replay.tracing.runner import OpStop, StepRunner
from ftlab.replay.tracing.survey import Survey
from ftlab.replay.tracing.tracer import OpTracer
from ftlab.replay.trials.changes import Plan
from ftlab.replay.trials.variation import Variation

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


class UpdateReplay:
    """The replays of one optimizer step.

    Parameters
    ----------
    capsule
        What the step changes, as it was.
    step
        Makes the step, without the hooks of others.
    model
        The parameters' owner.
    names
        Of parameters, by ``id``.
    known
        What was non-finite before.
    """

    def __init__(
        self,
        capsule: UpdateCapsule,
        step: Callable[[], Any],
        model: torch.nn.Module,
        names: dict[int, str],
        known: set[Key],
    ) -> None:
        self._capsule = capsule
        self._step = step
        self._model = model
        self._names = names
        self._known = known
        self._survey = Survey([], Lineage())
        self._variation = Variation()
        self._blank = PauseReport("paused")
        self._pause: Callable[[Stop], Command] = lambda _: Command("resume")

    def run(
        self,
        bad: Sequence[Written],
        blank: PauseReport,
        pause: Callable[[Stop], Command],
    ) -> None:
        """Stop where the step went wrong until an execution of it comes through.

        Parameters
        ----------
        bad
            What it made non-finite.
        blank
            A report with the step's numbers filled in.
        pause
            Waits at a stop and returns the command.
        """
        self._blank, self._pause = blank, pause
        try:
            while True:
                self._survey = self._look()
                if self._survey.origin is None:
                    self._end_unlocated(bad)
                    return
                if self._walk(self._survey.origin.index):
                    return
                bad = []
        except Abort:
            self._capsule.restore()
            raise

    def _end_unlocated(self, bad: Sequence[Written]) -> None:
        """Let the survey be the real step: with the change it came through."""
        bad = bad or self._bad()
        if bad:
            why = "run again, no operation that torch shows made it"
            self._pause(Stop(not_located(self._blank, bad, self._names, why), None))

    def _walk(self, target: int) -> bool:
        """Run the step to its end, with stops; false when it is changed for good."""
        reason = "anomaly"
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
                    self._execute()
            except Rewind as rewind:
                command = rewind.command
                if command is not None and command.with_change:
                    self._variation.take()
                    return False
                if command is not None and command.change is not None:
                    self._variation.outcome = self._try(command.change)
                target, reason = cast("int", rewind.target), rewind.reason
            else:
                return True

    def _execute(self) -> None:
        self._variation.update(self._capsule.optimizer, self._step)

    # -- looking

    def _look(self) -> Survey:
        self._capsule.restore()
        optimizer = self._capsule.optimizer
        origins, lineage = Origins(), Lineage()
        for parameter, state, tensor in updated_tensors(optimizer):
            source: Source = "state" if state else "parameter"
            name = self._names.get(id(parameter), "(unnamed)")
            label = f"{state} of {name}" if state else name
            origins.register(source, name, tensor)
            lineage.register(source, label, tensor, written=True)
            if not state and parameter.grad is not None:
                origins.register("gradient", name, parameter.grad)
                lineage.register("gradient of", name, parameter.grad)
        tracer = OpTracer(
            ModuleStack(self._model), origins, lineage, lambda: False, "optimizer"
        )
        with tracer:
            self._execute()
        bad = self._bad()
        weights = [each.tensor for each in bad if not each.key[1]]
        states = [each.tensor for each in bad if each.key[1]]
        origin = origins.trace(weights) or origins.trace(states)
        return Survey(tracer.sites, lineage, origin)

    def _bad(self) -> list[Written]:
        """List what the step has made non-finite; its state may be made anew."""
        found = written(self._capsule.optimizer, self._known)
        return [each for each in found if non_finite(each.tensor) is not None]

    # -- trying

    def _try(self, plan: Plan) -> str:
        """Execute the step once with a change, and say what came of it."""
        change = plan(self._survey.sites)
        try:
            with self._variation.trying(change):
                outcome = self._outcome(self._look())
        except Exception as error:  # noqa: BLE001  the user's own function may fail
            outcome = f"failed with {type(error).__name__}: {error}"
        return f"{change.label}: {outcome}"

    def _outcome(self, survey: Survey) -> str:
        if survey.origin is not None and survey.origin.index >= 0:
            site = survey.sites[survey.origin.index]
            line = site.library_line or site.user_line
            return f"still non-finite, from {site.op} {site.index}, {line}"
        if self._bad():
            return "still non-finite"
        moved = [
            (p.detach() - b).abs().max() for p, b in self._capsule.weights if b.numel()
        ]
        largest = max((float(each) for each in moved), default=0.0)
        return (
            "gone: weights and state are finite; the largest change of a weight is "
            f"{digits(largest)}"
        )

    # -- stopping

    def _stop(self, stop: OpStop) -> int | None:
        report = replace(
            self._blank,
            operations=len(self._survey.sites),
            trial=self._variation.outcome,
        )
        report = at_op(report, stop, self._survey)
        kind, name = self._affected(stop)
        report = replace(report, kind=kind, name=name)
        command = self._pause(
            Stop(report, None, stop, self._survey.sites, survey=self._survey)
        )
        if command.change is not None or command.with_change:
            raise Rewind(stop.site.index, stop.reason, command)
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


def not_located(
    blank: PauseReport, bad: Sequence[Written], names: dict[int, str], why: str
) -> PauseReport:
    """Complete ``blank`` for a step in which no operation can be shown."""
    first = bad[0]
    return replace(
        blank,
        what=non_finite(first.tensor) or "",
        kind="state" if first.key[1] else "optimizer",
        name=names[first.key[0]],
        notes=(f"It cannot be located: {why}.",),
        replayable=False,
    )
