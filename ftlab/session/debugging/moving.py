"""Stepping: the commands that lead a paused run to another place of its step."""

from abc import abstractmethod

from ftlab.records.errors import NotReplayableError
from ftlab.replay.control import Command
from ftlab.replay.engine import Engine
from ftlab.replay.route import check_pattern
from ftlab.replay.stops.report import PauseReport
from ftlab.replay.stops.stop import Stop
from ftlab.replay.trials.commands import IN_UPDATE
from ftlab.replay.waiting import no_way_back


class Moving:
    """The commands of a debugger that move within, or by, executions of the step."""

    _engine: Engine

    @property
    @abstractmethod
    def _stop(self) -> Stop | None:
        """Where the run waits, ``None`` when it does not."""

    @abstractmethod
    def _send(self, command: Command) -> PauseReport:
        """Give a command and block until the next stop."""

    def step(self, to: str = "op", count: int = 1) -> PauseReport:
        """Go on by ``count`` operations, or to another place.

        Parameters
        ----------
        to
            ``"op"``; ``"module"``, the next stay in a module; a pattern of module paths
            such as ``"layers.*.mlp"``, or ``"backward layers.*.mlp"`` for its backward;
            ``"micro-batch"`` or ``"optimizer step"``, the start of the next one.
        count
            How many of them, within the step.

        Raises
        ------
        UnknownNameError
            When no module of this step matches.

        Notes
        -----
        Behind the last operation comes a stop at the end of the micro-batch, and behind
        that the first operation of the next one.
        """
        return self._move(Command.move("step", to, count))

    def back(self, to: str = "op", count: int = 1) -> PauseReport:
        """Go back by ``count`` operations, or to another place; see `step`.

        The step is rewound to its start and executed again up to there. By
        ``"micro-batch"`` and ``"optimizer step"`` it leads to the start of what is
        under way, and from there to earlier ones, as far as `reach` says: these are
        only looked at, with the weights of their time. `resume` then returns to the
        stop in the present.

        Raises
        ------
        NotReplayableError
            When the weights have changed already, or no copies lead so far back.
        UnknownNameError
            When no module of this step matches.
        """
        command = Command.move("back", to, count)
        stop = self._stop
        if stop is not None and not stop.report.replayable:
            raise NotReplayableError(no_way_back(stop.report))
        if stop is not None and command.whole and stop.report.kind in IN_UPDATE:
            msg = (
                f"back(to={command.unit!r}): this stop is in the optimizer step, which "
                "moves by op. Use resume() or abort()."
            )
            raise NotReplayableError(msg)
        if stop is not None:
            at_start = stop.op is not None and stop.op.site.index == 0
            self._engine.past.check(command, at_start=at_start)
        return self._move(command)

    @property
    def reach(self) -> int:
        """How many optimizer steps `back` can lead to, within the memory budget."""
        return self._engine.past.reach

    def _move(self, command: Command) -> PauseReport:
        stop = self._stop
        if stop is not None:
            check_pattern(stop.sites, command)
        return self._send(command)
