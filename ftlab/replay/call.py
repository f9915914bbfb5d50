"""One call of the re-callable step: run, judged, and run again where it went wrong.

The first attempt runs untraced. At the step's boundary, which is where an optimizer is
about to change the weights or else where the step returns, it is judged. An anomaly
rewinds it: a survey finds the culprit, the capsule is restored, and the next attempt
stops there. That attempt becomes the real one when the caller resumes.
"""

import contextlib
import functools
from collections.abc import Callable
from typing import Any

import torch

from ftlab.records import replaying
from ftlab.records.errors import NotReplayableError, TrainingStoppedError
from ftlab.replay.answering import AGAIN, Answering, Skipped
from ftlab.replay.breakpoints.sought import Hit, Sought
from ftlab.replay.capsules.capsule import Capsule
from ftlab.replay.capsules.scaler import true_scale
from ftlab.replay.control import Abort, Command, Rewind, SurveyOver
from ftlab.replay.hearing import Hearing
from ftlab.replay.observer import CallObserver
from ftlab.replay.optimizers import drop_leftovers, inside_backward, starve
from ftlab.replay.responses.precision import full_precision
from ftlab.replay.responses.response import NON_FINITE, Response
from ftlab.replay.stopping import Desk
from ftlab.replay.stops.report import PauseReport
from ftlab.replay.stops.verdict import Verdict, judge, scalar_results
from ftlab.replay.torch_private import graph_task
from ftlab.replay.tracing.compiled import run_eagerly
from ftlab.replay.tracing.finite import all_finite


class StepCall(Answering):
    """One call of the step.

    Parameters
    ----------
    function, capsule, blank, desk
        See `Stopping`.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        capsule: Capsule,
        blank: PauseReport,
        desk: Desk,
    ) -> None:
        super().__init__(function, capsule, blank, desk)
        self._mark: object = None
        self._stop_at_end = False
        self._with_closure = False
        self._due: Response | None = None
        self._heard = Hearing(
            capsule, self._retrace, self._variation, desk.unwinding, desk.scout, self
        )

    def run(self, *, stop_at_start: bool, first: Response | None = None) -> Any:
        """Run the step until an attempt comes through, and return its result.

        Parameters
        ----------
        stop_at_start
            The caller has stepped into it.
        first
            A response that is due because the step begins.

        Raises
        ------
        Skipped
            When a response leaves it out; it has left no trace.
        TrainingStoppedError
            When that is the response.
        """
        try:
            self._due = self._begin_with(first)
            self._stop_at_end = stop_at_start and self._obstacle() is not None
            if stop_at_start and not self._stop_at_end:
                self._prepare(Rewind(0, "step"))
            elif self._desk.scout.at_once and self._obstacle() is None:
                self._prepare(self._to_breakpoints([]))
            replaying.end(self._mark)  # what comes now nobody has heard yet
            while True:
                try:
                    return self._attempt()
                except Rewind as rewind:  # its frames hold the graph of the attempt
                    self._prepare(rewind.with_traceback(None))
        except (Abort, Skipped, TrainingStoppedError) as over:
            if self.capsule.obstacle() is None:
                self.capsule.restore()
            if self.at_update and isinstance(over, Skipped):
                # What other micro-batches have added would leak into the next update.
                self.capsule.gradients.drop()
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
            self._desk.unwinding.insist(while_handled=True)
            if self._desk.unwinding.resigned:
                starve(optimizer)
                return
            if graph_task() != -1:
                self._desk.unwinding.leave(
                    NotReplayableError(inside_backward(optimizer))
                )
            self.at_update = True
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
        self._at_boundary = False
        if self._verdict is None:
            self._heard.losses = []
        with contextlib.ExitStack() as stack:
            stack.enter_context(CallObserver(self._heard))
            if self._retrace.runner is not None:
                stack.enter_context(run_eagerly())
                stack.enter_context(self._retrace.runner)
            else:
                stack.enter_context(self._desk.scout.looking(self._heard.silent))
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
        with full_precision() if self._in_float32() else contextlib.nullcontext():
            return self._desk.unwinding.call(step)

    @property
    def _losses(self) -> list[torch.Tensor]:
        return self._heard.losses

    @property
    def attempted(self) -> bool:
        """Whether an optimizer tried to step: a scaler may have skipped it."""
        return self._heard.attempted

    # -- the boundary

    def boundary(self, result: Any = None) -> None:
        """Judge the step where its weights are about to change, or where it returns."""
        runner = self._retrace.runner
        if self._retrace.surveyor is not None:
            self._desk.unwinding.leave(SurveyOver())
        if runner is not None:
            runner.silent = True
        self._at_boundary = True
        if self._verdict is None:
            # What a closure tried on the way to its result does not count.
            tried = [] if self._with_closure else self._heard.losses
            self._judge(tried or scalar_results(result))
        if runner is not None:
            self._end_of_replay(runner)
        elif self._desk.interrupted() or self._stop_at_end:
            self._pause_at_end("interrupt" if self._desk.interrupted() else "step")
        replaying.end(self._mark)

    def _judge(self, losses: list[torch.Tensor]) -> None:
        self._heard.losses = losses
        self._look_out(losses)
        if all_finite([*losses, *self.capsule.gradients.current()]):
            self._desk.responses.calm(*NON_FINITE)
            return
        verdict = judge(losses, self.capsule.trainable, self.capsule.scalers)
        if verdict is None or self._responds_to_verdict(verdict):
            return
        self._verdict, self._heard.judged = verdict, True
        if self._obstacle() is None:
            self._desk.unwinding.leave(Rewind(None, "anomaly"))
        self._pause_at_end("anomaly")

    def _responds_to_verdict(self, verdict: Verdict) -> bool:
        """Let a response have its way; say whether the step is in order then."""
        seen, unseen = ("loss", "gradient") if verdict.in_loss else ("gradient", "loss")
        self._desk.responses.calm(f"non-finite {unseen}")
        found = self._desk.responses.to("anomaly", f"non-finite {seen}")
        return self._answer(found, f"non-finite {seen}")

    def _look_out(self, losses: list[torch.Tensor]) -> None:
        """Stop where a breakpoint's condition is met."""
        hits = self._noticed(losses) if self._desk.scout.points else []
        if hits and self._obstacle() is None:
            self._desk.unwinding.leave(self._to_breakpoints(hits))
        found = self._desk.finding()
        if found is not None and not self._responds_to(found):
            hits.append(found)
        for hit in hits[:1]:
            self._pause_at_end("breakpoint", hit=hit)
        due, self._due = self._due, None
        if due is not None and not self._answer(due, due.trigger):
            self._pause_at_end("response")

    def _noticed(self, losses: list[torch.Tensor]) -> list[Hit]:
        """Return the breakpoints that are met and not answered by a response."""
        scale = true_scale(self.capsule.scalers)  # measured behind backward
        hits = self._desk.scout.noticed(losses, self.capsule.trainable, scale)
        self._desk.responses.calm_points({hit.breakpoint for hit in hits})
        # Where operations are meant, the response comes where the run stops.
        return [h for h in hits if h.breakpoint.in_ops or not self._responds_to(h)]

    def _to_breakpoints(self, hits: list[Hit]) -> Rewind:
        """Return what leads to the places where breakpoints stop."""
        before = self._retrace.sought
        asked = self._desk.scout.in_ops() if before is None else []
        known = {hit.breakpoint for hit in asked}
        new = [hit for hit in hits if hit.breakpoint not in known]
        return Rewind(None, "breakpoint", sought=Sought([*asked, *new]))

    # -- replaying

    def _prepare(self, rewind: Rewind) -> None:
        """Go back to the start and aim the next attempt at the wanted op."""
        replaying.end(self._mark)
        self._mark = replaying.begin()
        command = rewind.command
        if rewind.reason == AGAIN:
            self._retrace.forget()
            return
        if command is not None and command.with_change:
            self._variation.take()
            self._verdict, self._heard.judged = None, False
            self._retrace.forget()
            return
        if command is not None and command.verb == "back":
            rewind = self._look_back(command, rewind)
        if command is not None and command.visitor is not None:
            self._retrace.visit(command.visitor, self._survey_step)
        if command is not None and command.change is not None:
            change = command.change(self._retrace.numbered(self._survey_step))
            with self._variation.trying(change):
                found = self._retrace.look_with(change, self._survey_step)
            self._variation.outcome = found
        self._retrace.aim(rewind, self._survey_step, self._pause_at_op)

    def _look_back(self, command: Command, rewind: Rewind) -> Rewind:
        """Look at earlier calls; return what leads on from there in this one."""
        journey = self._desk.journey
        if journey is None:
            return rewind
        at_start = rewind.target == 0
        came_by, why = journey.make(self.capsule, command, at_start=at_start)
        self._notes = (why,) if why else ()
        return rewind if came_by.verb == "resume" else Rewind(0, "step")

    def _survey_step(self) -> Any:
        with CallObserver(self._heard):
            return self._call_step()
