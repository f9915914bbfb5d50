"""Guards every call of a run's re-callable step.

Who calls whom: the training code calls the guarded step on the training thread; each
call becomes a `StepCall`. The engine keeps what lasts longer than one call: the count
of steps, the hook that sees optimizers step, and how a stop reaches the caller.
"""

import functools
from collections.abc import Callable, Iterable
from typing import Any

import torch

from ftlab.records.by_id import ById
from ftlab.records.errors import TrainingStoppedError
from ftlab.records.handle import CallbackHandle, Handle, HandleStack
from ftlab.replay.answering import Skipped
from ftlab.replay.breakpoints.scout import Scout
from ftlab.replay.call import StepCall
from ftlab.replay.capsules.capsule import Capsule, Modules
from ftlab.replay.capsules.generators import own_generators
from ftlab.replay.capsules.inputs import KeptInputs
from ftlab.replay.control import Abort, Command
from ftlab.replay.optimizers import warn_of_closure
from ftlab.replay.past import Past, PastStep
from ftlab.replay.past_call import Journey, Left, PastCall
from ftlab.replay.responses.response import Response
from ftlab.replay.snapshots.snapshot import Moment
from ftlab.replay.stopping import Desk
from ftlab.replay.stops.report import PauseReport
from ftlab.replay.stops.spans import Decode
from ftlab.replay.stops.stop import Stop
from ftlab.replay.unwinding import Unwinding
from ftlab.replay.update import UpdateCall
from ftlab.replay.update_guard import UpdateGuard
from ftlab.replay.update_replay import Written
from ftlab.replay.waiting import Waiting
from ftlab.replay.wishes import Wishes
from ftlab.replay.worker import Worker


class Engine:
    """Runs steps so that each can be stopped before it changes the weights.

    Parameters
    ----------
    model
        Returns what the step trains; a trainer may make it anew.
    worker
        The training thread.
    owner
        The trainer whose counters and metrics the step moves, if any.
    step_number
        Returns the number of optimizer steps so far, where somebody counts them.
    wishes
        What the user wants; may be shared with other engines.
    optimizers
        Those that are known; others are found when they first step.
    decode
        Turns token ids into text, where a tokenizer is known.

    Attributes
    ----------
    wishes, decode
        As they were passed.
    past
        The calls of the step that it can go back to.
    step, micro_batch
        Attempted optimizer steps so far, and calls of the step since the last of them.
    """

    def __init__(
        self,
        model: Callable[[], torch.nn.Module],
        worker: Worker,
        *,
        owner: Any = None,
        step_number: Callable[[], int] | None = None,
        wishes: Wishes | None = None,
        optimizers: Iterable[torch.optim.Optimizer] = (),
        decode: Decode | None = None,
    ) -> None:
        self.step = 0
        self.micro_batch = 0
        self.wishes = Wishes() if wishes is None else wishes
        self.decode = decode
        self.past = Past(self.wishes.budget)
        self._waiting = Waiting(worker, self.wishes, decode)
        self._model = model
        self._worker = worker
        self._owner = owner
        self._step_number = step_number
        self._call: StepCall | None = None
        self._leave_by = ""
        self._copy_gradients = True
        self._unwinding = Unwinding()
        self._warned = False
        self._generators: list[Any] | None = None
        self._modules: Modules | None = None
        self._scalers: ById[Any, None] = ById()
        self._updates = UpdateGuard(
            lambda: worker.current,
            self._announce,
            self._explore,
            self.past.updated,
            optimizers=optimizers,
            budget=self.wishes.budget,
        )

    def attach(self) -> Handle:
        """Watch for optimizer steps until the handle is removed."""
        self.step, self.micro_batch = 0, 0
        self._leave_by, self._copy_gradients = "", True
        self._unwinding, self._warned = Unwinding(), False
        self._generators = None
        self.past.forget()
        handles = HandleStack()
        handles.add(CallbackHandle(self._forget_modules))
        handles.add(self._updates.attach())
        return handles

    def _forget_modules(self) -> None:
        self._modules = None

    def guard(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return ``function`` so that each call of it can be stopped and replayed.

        Calls from other threads, and calls within a call, go straight through.
        """

        @functools.wraps(function)
        def guarded(*args: Any, **kwargs: Any) -> Any:
            if not self._worker.current or self._call is not None:
                return function(*args, **kwargs)
            return self._run(function, args, kwargs)

        return guarded

    def _run(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        self._worker.raise_if_aborted()
        self.count()
        capsule = Capsule(
            self._model(),
            KeptInputs(args, kwargs),
            owner=self._owner,
            copy_gradients=self._copy_gradients,
            sample_weights=not self._updates.seen,
            generators=self._generators_of(function),
            function=function,
            modules=self._modules,
        )
        self._modules = capsule.modules
        blank = PauseReport("paused", step=self.step, micro_batch=self.micro_batch)
        interrupted = functools.partial(getattr, self._worker, "pause_requested")
        for optimizer in self._updates.optimizers:
            capsule.add_optimizer(optimizer)
        self.past.begin(function, capsule, self.step, self.micro_batch)
        breakpoints, responses = self.wishes.breakpoints, self.wishes.responses
        points = breakpoints.counting(self.step)
        desk = Desk(
            self._waiting.pause,
            interrupted,
            self._unwinding,
            Scout(points, capsule.model, self.micro_batch),
            functools.partial(breakpoints.found, points),
            responses,
            complete=lambda stop: stop.completed(self.decode),
            outer=self._owner is not None,
            journey=Journey(self.past, self._look_at),
        )
        call = StepCall(function, capsule, blank, desk)
        self._call = call
        due = responses.before(self.step, self._scalers)
        try:
            result = call.run(stop_at_start=self._stops_at_start(), first=due)
        except (Skipped, Abort) as left:
            result = self._leave_out(left)
        finally:
            self._call = None
        self._scalers.update((each, None) for each in capsule.scalers)
        if self._stops_at_start() or call.leave_by:
            self._leave_by = call.leave_by
        self._copy_gradients = capsule.gradients.rewritten
        self.micro_batch += 1
        if (call.at_update or call.attempted) and self._step_number is None:
            self.step, self.micro_batch = self.step + 1, 0
        self._worker.raise_if_aborted()
        return result

    def _leave_out(self, left: Skipped | Abort) -> Any:
        """Finish what a response or the caller wants of a call that left no trace."""
        if isinstance(left, Abort):
            self.past.begin_again()
            raise left
        response, why = left.response, left.why
        words = f"{why}: batch skipped"
        if response.by == "roll back":
            taken = self.past.roll_back(response.steps)
            words = f"{why}: rolled back by {taken} of {response.steps} optimizer steps"
        self.wishes.responses.told(self.step, response, words)
        if self._owner is None:
            return None
        # What a trainer takes for a batch whose loss is not to be counted.
        return torch.tensor(float("nan"), device=self._owner.args.device)

    def _look_at(self, call: PastStep) -> Left:
        """Let the caller look at an earlier call of the step."""
        behind = self.step - call.step
        blank = PauseReport(
            "paused", step=call.step, micro_batch=call.micro_batch, behind=behind
        )
        scout = Scout((), call.capsule.model, call.micro_batch)
        desk = Desk(
            self._waiting.pause,
            lambda: False,
            self._unwinding,
            scout,
            lambda: None,
            self.wishes.responses,
        )
        present = self._call
        self._call = earlier = PastCall(call.function, call.capsule, blank, desk)
        try:
            return earlier.look()
        finally:
            self._call = present

    def _stops_at_start(self) -> bool:
        """Whether the caller has stepped into the call that begins."""
        return bool(self._leave_by) and (
            self._leave_by != "optimizer step" or self.micro_batch == 0
        )

    def _generators_of(self, function: Callable[..., Any]) -> list[Any]:
        """Return the step's own generators; searched once a run."""
        if self._generators is None:
            self._generators = own_generators(function)
        return self._generators

    def moment(self) -> Moment:
        """Return what is under way, for a snapshot of it."""
        call = None if self._call is None else self._call.capsule
        update = None if self._updates.update is None else self._updates.update.capsule
        known = tuple(self._updates.optimizers)
        return Moment(self._model(), call, update, known, self.decode, self._owner)

    def count(self) -> int:
        """Return the steps so far; a trainer's optimizer steps between two calls."""
        if self._step_number is None:
            return self.step
        number = self._step_number()
        if number != self.step:
            self.step, self.micro_batch = number, 0
        return self.step

    def _announce(self, optimizer: torch.optim.Optimizer, closure: bool) -> bool:
        if closure and not self._warned:
            self._warned = True
            warn_of_closure(optimizer)
        if self._call is not None:
            self._call.before_update(optimizer, closure=closure)
        return self._unwinding.resigned

    def _explore(self, update: UpdateCall, bad: list[Written]) -> None:
        # Outside of a call the trainer steps, after the last micro-batch.
        micro_batch = self.micro_batch - (self._call is None)
        blank = PauseReport("paused", "anomaly", self.count(), max(micro_batch, 0))
        response = self.wishes.responses.to("anomaly")
        if response is not None and self._answer_update(update, bad, response):
            return
        pause = self._unwinding.holding(self._pause_in_update)
        update.explore(bad, self._model(), blank, pause)

    def _answer_update(
        self, update: UpdateCall, bad: list[Written], response: Response
    ) -> bool:
        """Do what a response wants of an update that went wrong, if it can."""
        why = "non-finite weights or optimizer state"
        if update.capsule is not None and response.by in ("skip batch", "roll back"):
            update.undo(bad)
            extra = response.steps - 1 if response.by == "roll back" else 0
            taken = 1 + (self.past.roll_back(extra) if extra else 0)
            self.wishes.responses.told(self.step, response, f"{why}: {taken} undone")
            return True
        stops = response.by == "stop"
        words = "stopped" if stops else f"paused, {response.by!r} does not apply here"
        self.wishes.responses.told(self.step, response, f"{why}: {words}")
        if stops:
            update.undo(bad)
            msg = f"Step {self.step}: {why}. {response!r} stops the training."
            self._unwinding.leave(TrainingStoppedError(msg))
        return False

    def _pause_in_update(self, stop: Stop) -> Command:
        command = self._waiting.pause(stop)
        if command.verb == "step" and command.whole:
            if self._call is not None:
                self._call.leave_by = command.unit
            self._leave_by = command.unit
        return command
