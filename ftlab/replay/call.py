"""One call of the re-callable step: run, judged, and run again where it went wrong.

The first attempt runs untraced. At the step's boundary, which is where an optimizer is
about to change the weights or else where the step returns, it is judged. An anomaly
rewinds it: a survey finds the culprit, the capsule is restored, and the next attempt
stops there. That attempt becomes the real one when the caller resumes.
"""

import contextlib
import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from ftlab.records import replaying
from ftlab.records.errors import NotReplayableError
from ftlab.replay.capsules.capsule import Capsule
from ftlab.replay.capsules.iterators import used_up
from ftlab.replay.control import Abort, Command, Rewind, SurveyOver
from ftlab.replay.hearing import Hearing
from ftlab.replay.observer import CallObserver
from ftlab.replay.optimizers import drop_leftovers, inside_backward, starve
from ftlab.replay.retrace import Retrace
from ftlab.replay.route import destination
from ftlab.replay.stops.report import PauseReport
from ftlab.replay.stops.stop import Stop, at_end, at_op, nothing_made_it, with_findings
from ftlab.replay.stops.verdict import Verdict, judge, scalar_results
from ftlab.replay.torch_private import graph_task
from ftlab.replay.tracing.compiled import run_eagerly
from ftlab.replay.tracing.finite import all_finite
from ftlab.replay.tracing.runner import OpStop, StepRunner
from ftlab.replay.trials.variation import Variation
from ftlab.replay.unwinding import Unwinding

END = 2**62
"""An index that is behind every operation: the end of the step."""

Pause = Callable[[Stop], Command]


class StepCall:
    """One call of the step.

    Parameters
    ----------
    function
        The step.
    capsule
        Its start.
    blank
        A report with the step's numbers filled in.
    pause
        Waits at a stop and returns the command.
    interrupted
        Whether the caller wants a stop.
    unwinding
        Sees to it that the step is left when it has to be.

    Attributes
    ----------
    updated_by
        The optimizer that has stepped within the call, ``""`` if none has.
    leave_by
        What the caller stepped over the end by, ``""`` if they did not.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        capsule: Capsule,
        blank: PauseReport,
        pause: Pause,
        interrupted: Callable[[], bool],
        unwinding: Unwinding,
    ) -> None:
        self.updated_by = ""
        self.leave_by = ""
        self.capsule = capsule
        self._function = function
        self._blank = blank
        self._pause = unwinding.holding(pause)
        self._interrupted = interrupted
        self._verdict: Verdict | None = None
        self._retrace = Retrace(capsule, unwinding.insist, interrupted)
        self._mark: object = None
        self._stop_at_end = False
        self._with_closure = False
        self._variation = Variation()
        self._unwinding = unwinding
        self._heard = Hearing(capsule, self._retrace, self._variation, unwinding, self)

    def run(self, *, stop_at_start: bool) -> Any:
        """Run the step until an attempt comes through, and return its result."""
        try:
            self._stop_at_end = stop_at_start and self._obstacle() is not None
            if stop_at_start and not self._stop_at_end:
                self._prepare(Rewind(0, "step"))
            while True:
                try:
                    return self._attempt()
                except Rewind as rewind:  # its frames hold the graph of the attempt
                    self._prepare(rewind.with_traceback(None))
        except Abort:
            if self.capsule.obstacle() is None:
                self.capsule.restore()
            raise
        finally:
            replaying.end(self._mark)

    def before_update(
        self, optimizer: torch.optim.Optimizer, *, closure: bool = False
    ) -> None:
        """Judge the step: ``optimizer`` is about to change the weights.

        Parameters
        ----------
        closure
            It computes the gradients by itself: there is nothing to judge before it.

        Raises
        ------
        NotReplayableError
            When the optimizer steps inside backward.
        """
        try:
            self._unwinding.insist(while_handled=True)
            if self._unwinding.resigned:
                starve(optimizer)
                return
            if graph_task() != -1:
                self._unwinding.leave(NotReplayableError(inside_backward(optimizer)))
            self._with_closure |= closure and self._retrace.surveyor is None
            if self._with_closure:
                replaying.end(self._mark)
            else:
                self.boundary()
        except BaseException:
            drop_leftovers(optimizer)
            raise
        self.updated_by = type(optimizer).__name__

    def _attempt(self) -> Any:
        if self._verdict is None:
            self._heard.losses = []
        with contextlib.ExitStack() as stack:
            stack.enter_context(CallObserver(self._heard))
            if self._retrace.runner is not None:
                stack.enter_context(run_eagerly())
                stack.enter_context(self._retrace.runner)
            result = self._call_step()
            if not self.updated_by or self._with_closure:
                self.boundary(result)
        return result

    def _call_step(self) -> Any:
        step = functools.partial(
            self._variation.call,
            self._function,
            self.capsule.inputs,
            self._heard.silent,
        )
        return self._unwinding.call(step)

    @property
    def attempted(self) -> bool:
        """Whether an optimizer tried to step: a scaler may have skipped it."""
        return self._heard.attempted

    # -- the boundary

    def boundary(self, result: Any = None) -> None:
        """Judge the step where its weights are about to change, or where it returns."""
        runner = self._retrace.runner
        if self._retrace.surveyor is not None:
            self._unwinding.leave(SurveyOver())
        if runner is not None:
            runner.silent = True
        if self._verdict is None:
            # What a closure tried on the way to its result does not count.
            tried = [] if self._with_closure else self._heard.losses
            self._judge(tried or scalar_results(result))
        if runner is not None:
            self._end_of_replay(runner)
        elif self._interrupted() or self._stop_at_end:
            self._pause_at_end("interrupt" if self._interrupted() else "step")
        replaying.end(self._mark)

    def _judge(self, losses: list[torch.Tensor]) -> None:
        self._heard.losses = losses
        if all_finite([*losses, *self.capsule.gradients.current()]):
            return
        verdict = judge(losses, self.capsule.trainable, self.capsule.scalers)
        if verdict is None:
            return
        self._verdict, self._heard.judged = verdict, True
        if self._obstacle() is None:
            self._unwinding.leave(Rewind(None, "anomaly"))
        self._pause_at_end("anomaly")

    def _end_of_replay(self, runner: StepRunner) -> None:
        if runner.target is None and not self._interrupted():
            return
        anomaly = runner.reason == "anomaly"
        note = nothing_made_it(self._retrace.survey) if anomaly else ""
        self._pause_at_end(runner.reason, note)

    def _pause_at_end(self, reason: str, note: str = "") -> None:
        obstacle = self._obstacle()
        if obstacle is not None:
            note = f"It cannot be executed again: {obstacle}."
        report = at_end(self._report(), reason, self._verdict, note)
        report = replace(report, replayable=obstacle is None)
        batch, survey = self.capsule.inputs.batch(), self._retrace.survey
        command = self._pause(Stop(report, batch, survey=survey))
        if self._retrace.runner is not None:
            self._retrace.runner.target = None
        self.leave_by = command.unit if command.verb == "step" else ""
        if command.verb == "back":
            self._unwinding.leave(Rewind(command, "back"))
        self._leave_for(command, END, reason)

    def _obstacle(self) -> str | None:
        """Say why the step cannot be executed again, if so."""
        if self.updated_by:
            return f"{self.updated_by}.step() has already changed the weights"
        return self.capsule.obstacle() or used_up(self._function, self.capsule.inputs)

    # -- replaying

    def _prepare(self, rewind: Rewind) -> None:
        """Go back to the start and aim the next attempt at the wanted op."""
        replaying.end(self._mark)
        self._mark = replaying.begin()
        command = rewind.command
        if command is not None and command.with_change:
            self._variation.take()
            self._verdict, self._heard.judged = None, False
            self._retrace.forget()
            return
        if command is not None and command.visitor is not None:
            self._retrace.visit(command.visitor, self._survey_step)
        if command is not None and command.change is not None:
            change = command.change(self._retrace.numbered(self._survey_step))
            with self._variation.trying(change):
                found = self._retrace.look_with(change, self._survey_step)
            self._variation.outcome = found
        self._retrace.aim(rewind, self._survey_step, self._pause_at_op)

    def _leave_for(self, command: Command, index: int, reason: str) -> None:
        """Leave the step where a command needs it executed in another way."""
        if command.verb in ("try", "visit"):
            self._unwinding.leave(Rewind(index, reason, command))
        if command.with_change:
            self._unwinding.leave(Rewind(None, "anomaly", command))

    def _survey_step(self) -> Any:
        with CallObserver(self._heard):
            return self._call_step()

    def _pause_at_op(self, stop: OpStop) -> int | None:
        survey = self._retrace.survey
        report = at_op(self._report(), stop, survey)
        batch, sites = self.capsule.inputs.batch(), survey.sites if survey else ()
        command = self._pause(Stop(report, batch, stop, sites, survey=survey))
        self._leave_for(command, stop.site.index, stop.reason)
        if command.verb == "resume" or survey is None:
            return None
        target = destination(survey.sites, stop.site.index, command)
        if command.verb == "back":
            self._unwinding.leave(Rewind(target, "back"))
        if command.whole:
            self.leave_by = command.unit
            return None
        return target

    def _report(self) -> PauseReport:
        notes = self._unwinding.notes
        blank = replace(self._blank, notes=notes, trial=self._variation.outcome)
        return with_findings(
            blank, self._retrace.survey, self._verdict, self._heard.losses
        )
