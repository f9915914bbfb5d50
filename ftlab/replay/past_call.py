"""Looking at an earlier call of the step: executed again, and never taken.

Who calls whom: `StepCall` sets out on a `Journey` when a command leads back beyond its
start. Each call on the way is a `PastCall`, with the weights of its time. In the end
the weights of the present are there again, and the step that waits there goes on.
"""

from collections.abc import Callable

from ftlab.records import replaying
from ftlab.replay.call import StepCall
from ftlab.replay.capsules.capsule import Capsule
from ftlab.replay.capsules.iterators import used_up
from ftlab.replay.control import Command, Rewind, SurveyOver
from ftlab.replay.past import Past, PastStep, Weights, put


class Left(BaseException):
    """Unwinds an earlier call, because a command leads elsewhere."""

    def __init__(self, command: Command, *, at_start: bool) -> None:
        super().__init__(command)
        self.command = command
        self.at_start = at_start


class PastCall(StepCall):
    """An earlier call of the step; it ends before its weights would change."""

    def look(self) -> Left:
        """Stop at its first operation, and stay until a command leads elsewhere."""
        try:
            self._prepare(Rewind(0, "back"))
            while True:
                try:
                    self._attempt()
                except Rewind as rewind:
                    self._prepare(rewind.with_traceback(None))
        except Left as left:
            return left
        finally:
            replaying.end(self._mark)

    def boundary(self, result: object = None) -> None:
        """Stop at the end if that was wanted, and leave the call in any case."""
        runner = self._retrace.runner
        if self._retrace.surveyor is not None or runner is None:
            self._desk.unwinding.leave(SurveyOver())
        runner.silent = True
        self._pause_at_end(runner.reason)
        onward = Command("step", "micro-batch")
        self._desk.unwinding.leave(Left(onward, at_start=False))

    def _leave_for(self, command: Command, index: int, reason: str) -> None:
        if command.verb == "resume" or command.whole:
            self._desk.unwinding.leave(Left(command, at_start=index == 0))
        super()._leave_for(command, index, reason)


class Journey:
    """The way through earlier calls, and back to the present.

    Parameters
    ----------
    past
        The calls.
    look_at
        Stops in an earlier call until a command leads elsewhere.
    """

    def __init__(self, past: Past, look_at: Callable[[PastStep], Left]) -> None:
        self._past = past
        self._look_at = look_at

    def leads_away(self, command: Command, *, at_start: bool) -> bool:
        """Say whether a command leads to an earlier call."""
        return self._past.leads_away(command, at_start=at_start)

    def make(
        self, present: Capsule, command: Command, *, at_start: bool
    ) -> tuple[Command, str]:
        """Look at earlier calls until a command leads to the present again.

        Parameters
        ----------
        present
            The start of the step that waits; whoever goes on restores it.
        command
            Leads to the first of them.

        Returns
        -------
        tuple
            The command, and why the journey ended early, ``""`` if it did not.
        """
        past = self._past
        now = len(past.calls) - 1
        for call in past.calls:
            present.adopt(call.capsule)
        present.gradients.copy_all()
        present.restore()
        weights = past.weights()
        try:
            return self._travel(weights, Left(command, at_start=at_start), now)
        finally:
            past.here = now
            put(weights)
            present.accept_weights()

    def _travel(self, weights: Weights, left: Left, now: int) -> tuple[Command, str]:
        past = self._past
        while left.command.verb != "resume":
            index = past.target(left.command, at_start=left.at_start)
            if index < 0:
                return Command("resume"), "Nothing that is kept leads further back."
            if index >= now:
                break
            past.here = index
            past.put_back(index, weights)
            earlier = past.calls[index]
            earlier.capsule.accept_weights()
            inputs = earlier.capsule.inputs
            obstacle = earlier.capsule.obstacle() or used_up(earlier.function, inputs)
            if obstacle is not None:
                return Command("resume"), (
                    f"Step {earlier.step}, micro-batch {earlier.micro_batch} cannot be "
                    f"executed again: {obstacle}."
                )
            try:
                left = self._look_at(earlier)
            except Exception as error:  # noqa: BLE001  the present is sound
                return Command("resume"), (
                    f"Step {earlier.step}, micro-batch {earlier.micro_batch} failed "
                    f"when it was executed again: {type(error).__name__}: {error}"
                )
        return left.command, ""
