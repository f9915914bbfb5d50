"""How one call of the step stops, and what the commands at a stop make of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import torch

from ftlab.replay.breakpoints.scout import Scout
from ftlab.replay.breakpoints.sought import Hit
from ftlab.replay.capsules.capsule import Capsule
from ftlab.replay.capsules.iterators import used_up
from ftlab.replay.control import Command, Rewind
from ftlab.replay.responses.responses import Responses
from ftlab.replay.retrace import Retrace
from ftlab.replay.route import destination
from ftlab.replay.stops.report import PauseReport
from ftlab.replay.stops.stop import Stop, at_end, at_op, nothing_made_it, with_findings
from ftlab.replay.stops.verdict import Verdict
from ftlab.replay.tracing.runner import OpStop, StepRunner
from ftlab.replay.trials.variation import Variation
from ftlab.replay.unwinding import Unwinding

END = 2**62
"""An index that is behind every operation: the end of the step."""


class Journey(Protocol):
    """Leads to earlier calls and back; see `ftlab.replay.past_call`."""

    def leads_away(self, command: Command, *, at_start: bool) -> bool:
        """Say whether a command leads to an earlier call."""

    def make(
        self, present: Capsule, command: Command, *, at_start: bool
    ) -> tuple[Command, str]:
        """Go there; returns the command that led back, and what went wrong."""


def _as_it_is(stop: Stop) -> Stop:
    return stop


@dataclass(frozen=True, slots=True)
class Desk:
    """Who is asked during a call.

    Attributes
    ----------
    pause
        Waits at a stop and returns the command.
    interrupted
        Whether the caller wants a stop.
    unwinding
        Sees to it that the step is left when it has to be.
    scout
        Looks out for breakpoints.
    finding
        Returns the breakpoint whose finding has appeared, if any.
    responses
        What the run does by itself.
    complete
        Adds what the waiting thread knows to a stop.
    outer
        Whether a trainer steps the optimizer, outside of the call.
    journey
        Leads to earlier calls, if there is anything to look at.
    """

    pause: Callable[[Stop], Command]
    interrupted: Callable[[], bool]
    unwinding: Unwinding
    scout: Scout
    finding: Callable[[], Hit | None]
    responses: Responses = field(default_factory=Responses)
    complete: Callable[[Stop], Stop] = _as_it_is
    outer: bool = False
    journey: Journey | None = None


class Stopping:
    """The part of a `StepCall` that waits.

    Parameters
    ----------
    function
        The step.
    capsule
        Its start.
    blank
        A report with the step's numbers filled in.
    desk
        Who is asked.

    Attributes
    ----------
    updated_by
        The optimizer that has stepped within the call, ``""`` if none has.
    at_update
        Whether an optimizer was about to step within the call.
    leave_by
        What the caller stepped over the end by, ``""`` if they did not.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        capsule: Capsule,
        blank: PauseReport,
        desk: Desk,
    ) -> None:
        self.updated_by = ""
        self.at_update = False
        self.leave_by = ""
        self.capsule = capsule
        self._function = function
        self._blank = blank
        self._desk = desk
        self._retrace = Retrace(capsule, desk.unwinding.insist, desk.interrupted)
        self._variation = Variation()
        self._verdict: Verdict | None = None
        self._notes: tuple[str, ...] = ()

    def _pause(self, stop: Stop) -> Command:
        return self._desk.unwinding.holding(self._desk.pause)(stop)

    @property
    def _losses(self) -> Sequence[torch.Tensor]:
        """What backward was called on."""
        return ()

    def _end_of_replay(self, runner: StepRunner) -> None:
        if runner.target is None and not self._desk.interrupted():
            return
        anomaly = runner.reason == "anomaly"
        note = nothing_made_it(self._retrace.survey) if anomaly else ""
        sought = self._retrace.sought if runner.reason == "breakpoint" else None
        self._pause_at_end(runner.reason, note, sought.noticed if sought else None)

    def _pause_at_end(
        self, reason: str, note: str = "", hit: Hit | None = None
    ) -> None:
        obstacle = self._obstacle()
        if obstacle is not None:
            note = f"It cannot be executed again: {obstacle}."
        report = at_end(self._report(), reason, self._verdict, note, hit)
        report = replace(report, replayable=obstacle is None)
        batch, survey = self.capsule.inputs.batch(), self._retrace.survey
        command = self._pause(Stop(report, batch, survey=survey))
        if self._retrace.runner is not None:
            self._retrace.runner.target = None
        self.leave_by = command.unit if command.verb == "step" else ""
        self._leave_for(command, END, reason)
        if command.verb == "back":
            self._desk.unwinding.leave(Rewind(command, "back"))

    def _obstacle(self) -> str | None:
        """Say why the step cannot be executed again, if so."""
        if self.updated_by:
            return f"{self.updated_by}.step() has already changed the weights"
        return self.capsule.obstacle() or used_up(self._function, self.capsule.inputs)

    def _leave_for(self, command: Command, index: int, reason: str) -> None:
        """Leave the step where a command needs it executed in another way."""
        if command.verb in ("try", "visit"):
            self._desk.unwinding.leave(Rewind(index, reason, command))
        if command.with_change:
            self._desk.unwinding.leave(Rewind(None, "anomaly", command))
        journey = self._desk.journey
        if journey is not None and journey.leads_away(command, at_start=index == 0):
            self._desk.unwinding.leave(Rewind(index, reason, command))

    def _pause_at_op(self, stop: OpStop) -> int | None:
        survey, sought = self._retrace.survey, self._retrace.sought
        stops_here = sought is not None and stop.reason == "breakpoint"
        hit = sought.answer(stop.site.index) if sought and stops_here else None
        if hit is not None and hit.breakpoint.in_ops and self._responds_to(hit):
            return self._next_breakpoint(stop.site.index)
        report = at_op(self._report(), stop, survey, hit)
        batch, sites = self.capsule.inputs.batch(), survey.sites if survey else ()
        command = self._pause(Stop(report, batch, stop, sites, survey=survey))
        self._leave_for(command, stop.site.index, stop.reason)
        if command.verb == "resume" or survey is None:
            return self._next_breakpoint(stop.site.index)
        target = destination(survey.sites, stop.site.index, command)
        if command.verb == "back":
            self._desk.unwinding.leave(Rewind(target, "back"))
        if command.whole:
            self.leave_by = command.unit
            return None
        return target

    def _responds_to(self, hit: Hit) -> bool:
        """Say whether a response has answered a breakpoint."""
        return False

    def _next_breakpoint(self, after: int) -> int | None:
        """Aim the run that goes on at the next place to stop, if there is one."""
        sought, runner = self._retrace.sought, self._retrace.runner
        target = None if sought is None else sought.next(after)
        if target is not None and runner is not None:
            runner.reason = "breakpoint"
        return target

    def _report(self) -> PauseReport:
        notes = (*self._desk.unwinding.notes, *self._notes)
        blank = replace(self._blank, notes=notes, trial=self._variation.outcome)
        return with_findings(blank, self._retrace.survey, self._verdict, self._losses)
