"""How the training thread waits at a stop, and who decides there."""

from ftlab.records import replaying
from ftlab.records.errors import NotReplayableError
from ftlab.replay.capsules.rng import RngState
from ftlab.replay.control import Abort, Command
from ftlab.replay.stops.report import PauseReport
from ftlab.replay.stops.spans import Decode
from ftlab.replay.stops.stop import Stop
from ftlab.replay.wishes import Wishes
from ftlab.replay.worker import Worker


class Waiting:
    """Waits for the caller's command, or asks the policy for one.

    Parameters
    ----------
    worker
        The training thread.
    wishes
        What the user wants.
    decode
        Turns token ids into text, where a tokenizer is known.
    """

    def __init__(self, worker: Worker, wishes: Wishes, decode: Decode | None) -> None:
        self._worker = worker
        self._wishes = wishes
        self._decode = decode

    def pause(self, stop: Stop) -> Command:
        """Wait for a command; whatever was drawn at random meanwhile is undone.

        Raises
        ------
        Abort
            When that is the command.
        """
        rng = RngState.take()
        try:
            with replaying.marked():
                stop = stop.completed(self._decode)
                self._wishes.on_stop(stop)
                command = self._decide(stop)
        finally:
            stop.release()
            rng.restore()
        if command.verb == "abort":
            raise Abort
        return command

    def _decide(self, stop: Stop) -> Command:
        policy = self._wishes.policy
        if policy is None:
            return self._worker.pause(stop)
        self._worker.stop = stop
        self._worker.forget_interrupt()
        try:
            command = Command.parse(policy(stop.report) or "resume")
        finally:
            self._worker.stop = None
        if command.verb == "back" and not stop.report.replayable:
            raise NotReplayableError(no_way_back(stop.report))
        return command


def no_way_back(report: PauseReport) -> str:
    """Say why ``back`` does not work at a stop."""
    why = report.notes[-1] if report.notes else "The weights have changed already."
    return f"back: this stop cannot be rewound. {why} Use resume() or abort()."
