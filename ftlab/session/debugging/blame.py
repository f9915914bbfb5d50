"""`dbg.blame()`: which samples and tokens a step owes its loss and gradient to."""

from collections.abc import Callable
from typing import Any

from ftlab.records.errors import NotPausedError, NotReplayableError
from ftlab.replay.blaming.blame import NO_LOSSES, Blaming
from ftlab.replay.control import Command
from ftlab.replay.stops.report import PauseReport
from ftlab.replay.stops.spans import Decode
from ftlab.views.blame import BlameView


def blame(
    report: PauseReport, decode: Decode | None, send: Callable[[Command], Any]
) -> BlameView:
    """Execute the step that ``report`` is about once more and take it apart.

    Raises
    ------
    NotPausedError
        When the run is not paused.
    NotReplayableError
        When the step cannot run again, or has no loss over tokens that torch shows.
    """
    if report.state != "paused":
        msg = (
            f"blame: the run is {report.state}, not paused; run() it to an anomaly, or "
            "interrupt() it."
        )
        raise NotPausedError(msg)
    if report.kind in ("optimizer", "state") or report.phase == "optimizer":
        msg = (
            "blame: this stop is in the optimizer's step, where forward and backward "
            "are over. Use abort(), and stop earlier in the next run."
        )
        raise NotReplayableError(msg)
    if not report.replayable:
        why = report.notes[-1] if report.notes else "The weights have changed already."
        msg = f"blame: this step cannot run again. {why}"
        raise NotReplayableError(msg)
    blaming = Blaming(report, decode)
    send(Command("visit", visitor=blaming))
    found = blaming.result()
    if blaming.error is not None and found is None:
        raise blaming.error
    if found is None:
        names = ", ".join(blaming.hidden)
        hidden = f" This step has {names}." if names else ""
        raise NotReplayableError(NO_LOSSES + hidden)
    return BlameView(found)
