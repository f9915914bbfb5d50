"""Stepping: the commands that lead a paused run to another place of its step."""

from abc import abstractmethod

from ftlab.records.errors import NotReplayableError
from ftlab.replay.control import Command
from ftlab.replay.engine import no_way_back
from ftlab.replay.route import check_pattern
from ftlab.replay.stops.report import PauseReport
from ftlab.replay.stops.stop import Stop


class Moving:
    """The commands of a debugger that move within, or by, executions of the step."""

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

        The step is rewound to its start and executed again up to there.

        Raises
        ------
        NotReplayableError
            When the weights have changed already.
        UnknownNameError
            When no module of this step matches.
        """
        command = Command.move("back", to, count)
        stop = self._stop
        if stop is not None and not stop.report.replayable:
            raise NotReplayableError(no_way_back(stop.report))
        return self._move(command)

    def _move(self, command: Command) -> PauseReport:
        stop = self._stop
        if stop is not None:
            check_pattern(stop.sites, command)
        return self._send(command)
