"""`dbg.blame()`: which samples and tokens a step owes its loss and gradient to."""

from collections.abc import Callable
from typing import Any, cast

from ftlab.records.errors import NotPausedError, NotReplayableError
from ftlab.replay.blaming.blame import NO_LOSSES, Blaming
from ftlab.replay.control import Command
from ftlab.replay.trials.commands import Trials
from ftlab.views.pausing.blame import BlameView


def blame(commands: Trials, send: Callable[[Command], Any], state: str) -> BlameView:
    """Execute a paused step once more and take it apart.

    Parameters
    ----------
    commands
        Makes the command for the stop.
    send
        Gives it to the run, and returns when that is at its stop again.
    state
        That of the run.

    Raises
    ------
    NotPausedError
        When the run is not paused.
    NotReplayableError
        When the step cannot run again, or has no loss over tokens that torch shows.
    """
    if state != "paused":
        msg = (
            f"blame: the run is {state}, not paused; run() it to an anomaly, or "
            "interrupt() it."
        )
        raise NotPausedError(msg)
    command = commands.blame()
    send(command)
    return finish(command)


def finish(command: Command) -> BlameView:
    """Return what came of a `blame` command that was carried out.

    Raises
    ------
    NotReplayableError
        See `blame`.
    """
    blaming = cast("Blaming", command.visitor)
    found = blaming.result()
    if blaming.error is not None and found is None:
        raise blaming.error
    if found is None:
        names = ", ".join(blaming.hidden)
        hidden = f" This step has {names}." if names else ""
        raise NotReplayableError(NO_LOSSES + hidden)
    return BlameView(found)
