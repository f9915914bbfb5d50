"""One call of the re-callable step: run, judged, and run again where it went wrong.

The first attempt runs untraced. At the step's boundary, which is where an optimizer is
about to change the weights or else where the step returns, it is judged. An anomaly
rewinds it: a survey finds the culprit, the capsule is restored, and the next attempt
stops there. That attempt becomes the real one when the caller resumes.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch

from ftlab.records import replaying
from ftlab.records.errors import NotReplayableError
from ftlab.replay.capsule import Capsule
from ftlab.replay.compiled import run_eagerly
from ftlab.replay.control import Abort, Command, Rewind, SurveyOver
from ftlab.replay.finite import all_finite
from ftlab.replay.observer import CallObserver
from ftlab.replay.report import PauseReport
from ftlab.replay.runner import OpStop, StepRunner, destination
from ftlab.replay.scaler import drop_leftovers
from ftlab.replay.stop import Stop, at_op, with_findings
from ftlab.replay.survey import Survey, Surveyor
from ftlab.replay.torch_private import graph_task
from ftlab.replay.verdict import Verdict, judge, scalar_results

EXECUTED_AGAIN = (
    "ftlab.debug was executing this step again when it failed; the first execution "
    "came through. A step must not use up what it is given, an iterator for example."
)

Pause = Callable[[Stop], Command]


class StepCall:
    """One call of the step.

    Parameters
    ----------
    function
        The step.
    capsule
        Its start.
    model
        What it trains.
    blank
        A report with the step's numbers filled in.
    pause
        Waits at a stop and returns the command.
    interrupted
        Whether the caller wants a stop.

    Attributes
    ----------
    updated
        Whether an optimizer has stepped within the call.
    attempted
        Whether one tried to: a scaler may have skipped it.
    leave_into_next
        Whether the caller stepped over the end, into the next call.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        capsule: Capsule,
        model: torch.nn.Module,
        blank: PauseReport,
        pause: Pause,
        interrupted: Callable[[], bool],
    ) -> None:
        self.updated = False
        self.attempted = False
        self.leave_into_next = False
        self.capsule = capsule
        self._function = function
        self._model = model
        self._blank = blank
        self._pause = pause
        self._interrupted = interrupted
        self._verdict: Verdict | None = None
        self._losses: list[torch.Tensor] = []
        self._survey: Survey | None = None
        self._surveyor: Surveyor | None = None
        self._runner: StepRunner | None = None
        self._mark: object = None

    def run(self, *, stop_at_start: bool) -> Any:
        """Run the step until an attempt comes through, and return its result."""
        try:
            if stop_at_start:
                self._prepare(Rewind(0, "step"))
            while True:
                try:
                    return self._attempt()
                except Rewind as rewind:
                    self._prepare(rewind)
        except Abort:
            if self.capsule.obstacle() is None:
                self.capsule.restore()
            raise
        finally:
            replaying.end(self._mark)

    def before_update(self, optimizer: torch.optim.Optimizer) -> None:
        """Judge the step: ``optimizer`` is about to change the weights.

        Raises
        ------
        NotReplayableError
            When the optimizer steps inside backward.
        """
        if graph_task() != -1:
            name = type(optimizer).__name__
            msg = (
                f"{name}.step() runs inside backward, where nothing can be checked "
                "before the weights change. Call it after backward to debug this run."
            )
            raise NotReplayableError(msg)
        try:
            self._boundary(None)
        except (Rewind, SurveyOver):
            drop_leftovers(optimizer)
            raise
        self.updated = True

    def _attempt(self) -> Any:
        inputs = self.capsule.inputs
        if self._verdict is None:
            self._losses = []
        with contextlib.ExitStack() as stack:
            stack.enter_context(CallObserver(self))
            if self._runner is not None:
                stack.enter_context(run_eagerly())
                stack.enter_context(self._runner)
            result = self._function(*inputs.args, **inputs.kwargs)
            if not self.updated:
                self._boundary(result)
        return result

    # -- what the observer tells

    def before_backward(self, losses: Sequence[torch.Tensor]) -> None:
        """Keep what backward is about to change."""
        with self._unseen():
            self.capsule.gradients.before_backward()
            self._note(losses)

    def _note(self, losses: Sequence[torch.Tensor]) -> None:
        if self._surveyor is not None:
            self._surveyor.note(losses)
        elif self._verdict is None:
            self._losses += [loss.detach().clone() for loss in losses]

    def after_backward(self) -> None:
        """Let the survey look at the gradients."""
        with self._unseen():
            if self._surveyor is not None:
                self._surveyor.after_backward()

    def before_scaling(self, scaler: Any, losses: Sequence[torch.Tensor]) -> None:
        """Keep a scaler's state, and the losses in their true size."""
        with self._unseen():
            self.capsule.add_scaler(scaler)
            self._note(losses)

    @contextlib.contextmanager
    def _unseen(self) -> Iterator[None]:
        """Keep our own operations out of the count and of the survey."""
        mode = self._surveyor.tracer if self._surveyor is not None else self._runner
        if mode is None or mode.silent:
            yield
            return
        mode.silent = True
        try:
            yield
        finally:
            mode.silent = False

    # -- the boundary

    def _boundary(self, result: Any) -> None:
        if self._surveyor is not None:
            raise SurveyOver
        if self._runner is not None:
            self._runner.silent = True
        if self._verdict is None:
            self._judge(self._losses or scalar_results(result))
        if self._runner is not None:
            self._end_of_replay(self._runner)
        elif self._interrupted():
            self._pause_at_end("interrupt")
        replaying.end(self._mark)

    def _judge(self, losses: list[torch.Tensor]) -> None:
        self._losses = losses
        if all_finite([*losses, *self.capsule.gradients.current()]):
            return
        verdict = judge(losses, self.capsule.trainable, self.capsule.scalers)
        if verdict is None:
            return
        self._verdict = verdict
        obstacle = self.capsule.obstacle()
        if obstacle is None:
            raise Rewind(None, "anomaly")
        self._pause_at_end("anomaly", f"It cannot be located: {obstacle}.")

    def _end_of_replay(self, runner: StepRunner) -> None:
        if runner.target is None and not self._interrupted():
            return
        note = ""
        if runner.reason == "anomaly":
            note = (
                "No operation of the replay made it: the step does not repeat. Does it "
                "count its own calls, or read what it has changed? Then keep the count "
                "outside, and let the step depend on its batch alone."
            )
            if self._survey is not None and self._survey.parameters:
                note = "No operation that torch shows made it."
        self._pause_at_end(runner.reason, note)

    def _pause_at_end(self, reason: str, note: str = "") -> None:
        report = replace(self._report(), reason=reason, what="", kind="")
        if reason == "anomaly" and self._verdict is not None:
            report = replace(report, what=self._verdict.what, kind="unknown")
        notes = (*report.notes, note) if note else report.notes
        replayable = self.capsule.obstacle() is None
        report = replace(report, notes=notes, replayable=replayable)
        command = self._pause(Stop(report, self.capsule.inputs.batch()))
        if self._runner is not None:
            self._runner.target = None
        if command.verb == "step":
            self.leave_into_next = True
        elif command.verb == "back":
            raise Rewind(command, "back")

    # -- replaying

    def _prepare(self, rewind: Rewind) -> None:
        """Go back to the start and aim the next attempt at the wanted op."""
        replaying.end(self._mark)
        self._mark = replaying.begin()
        self._runner = None
        self.capsule.restore()
        if self._survey is None:
            self._survey = self._make_survey()
            self.capsule.restore()
        sites = self._survey.sites
        target = rewind.target
        if isinstance(target, Command):
            target = destination(sites, len(sites), target)
        if target is None:
            origin = self._survey.origin
            target = len(sites) if origin is None else origin.index
            target = len(sites) if target < 0 else target
        self._runner = StepRunner(
            sites, target, rewind.reason, self._pause_at_op, self._interrupted
        )

    def _make_survey(self) -> Survey:
        inputs = self.capsule.inputs
        surveyor = Surveyor(self._model, self.capsule.trainable, inputs)

        def execute() -> None:
            with (
                contextlib.suppress(SurveyOver),
                CallObserver(self),
                run_eagerly(),
            ):
                self._function(*inputs.args, **inputs.kwargs)

        self._surveyor = surveyor
        try:
            return surveyor.run(execute)
        except Exception as error:
            error.add_note(EXECUTED_AGAIN)
            raise
        finally:
            self._surveyor = None

    def _pause_at_op(self, stop: OpStop) -> int | None:
        survey = self._survey
        origin = survey.origin if survey is not None else None
        report = at_op(self._report(), stop, origin)
        command = self._pause(Stop(report, self.capsule.inputs.batch(), stop))
        sites = survey.sites if survey is not None else ()
        if command.verb == "resume":
            return None
        target = destination(sites, stop.site.index, command)
        if command.verb == "back":
            raise Rewind(target, "back")
        return target

    def _report(self) -> PauseReport:
        return with_findings(self._blank, self._survey, self._verdict, self._losses)
