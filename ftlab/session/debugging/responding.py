"""Automatic responses: what a debugged run does by itself, if its user wants it."""

import time
from collections.abc import Callable

import torch

from ftlab.records.event import Event
from ftlab.replay.breakpoints.breakpoint import Breakpoint, Steps
from ftlab.replay.engine import Engine
from ftlab.replay.responses.response import Response
from ftlab.replay.responses.responses import Responses
from ftlab.session.debugging.snapshot_taking import take_snapshot
from ftlab.session.observation import observation_of


class Responding:
    """The part of a debugger that keeps automatic responses; none by default."""

    _engine: Engine
    _events: list[Event]

    @property
    def responses(self) -> Responses:
        """All automatic responses, in the order in which they are asked."""
        return self._engine.wishes.responses

    @property
    def events(self) -> list[Event]:
        """What automatic responses have done, also in the log of a watched run."""
        return list(self._events)

    def respond(
        self,
        to: str | Breakpoint,
        by: str,
        *,
        times: int = 1,
        steps: int = 1,
        max_norm: float | None = None,
        at: Steps | None = None,
        seconds: float | None = None,
        digest: str = "",
    ) -> Response:
        """Let the run do something by itself instead of waiting for a person.

        Parameters
        ----------
        to
            ``"anomaly"`` (anything non-finite before the weights change, or written by
            the optimizer), ``"non-finite loss"``, ``"non-finite gradient"``, a
            breakpoint or ``"breakpoint"`` for any, ``"failed unscale"`` (the gradient
            scaler lowered its scale), ``"tokenizer change"``, ``"step"`` with ``at``,
            or ``"time"`` with ``seconds``.
        by
            ``"pause"``; ``"snapshot"``: write one and go on with the step as it is;
            ``"skip batch"``: the step leaves no trace; ``"clip"``: the gradient's norm,
            to ``max_norm``; ``"roll back"``: skip, and put weights and optimizer state
            back by ``steps`` optimizer steps; ``"float32"``: once more, and for
            ``steps`` optimizer steps, without autocast; ``"stop"``: raise
            `TrainingStoppedError`.
        times
            How often in a row that must happen first; each earlier time another
            response is asked, and without one the run pauses.
        steps
            For ``"roll back"`` and ``"float32"``.
        max_norm
            For ``"clip"``.
        at
            For ``"step"``: a step, a ``range``, or a function of the step's number.
        seconds
            For ``"time"``: how often.
        digest
            For ``"tokenizer change"``: ``ftlab.fingerprint(tokenizer).digest`` of the
            tokenizer that is expected; without it, that of the start of the run.

        Returns
        -------
        Response
            Switch it with ``.enabled``, take it out with ``.remove()``.

        Raises
        ------
        BadValueError
            For a word that is none of these, or an option that is missing.

        Notes
        -----
        The first response that is due is given. What it did becomes an `events` entry,
        in the log too where `ftlab.watch` sees the same model. Where it cannot be done
        the run pauses: an infinite gradient cannot be clipped. A trainer that uses a
        gradient scaler skips non-finite gradients by itself, and is left to do so.

        Examples
        --------
        ``dbg.respond("non-finite loss", "stop", times=3)``

        ``dbg.respond("failed unscale", "float32", times=5, steps=100)``

        ``dbg.respond("time", "snapshot", seconds=3600)``
        """
        response = Response(
            to,
            by,
            times=times,
            steps=steps,
            max_norm=max_norm,
            at=at,
            seconds=seconds,
            digest=digest,
        )
        return self.responses.add(response)


def connect(
    engine: Engine, events: list[Event], model: Callable[[], torch.nn.Module | None]
) -> None:
    """Let an engine's responses be told in ``events``, and take snapshots."""
    responses = engine.wishes.responses
    responses.told = _keeper(events, model)
    responses.snapshot = lambda stop: take_snapshot(
        stop, engine, "running", None, "trainable"
    )


def _keeper(
    events: list[Event], model: Callable[[], torch.nn.Module | None]
) -> Callable[[int, Response, str], None]:
    """Return what notes a response, in ``events`` and in the log of a watched run."""

    def told(step: int, response: Response, words: str) -> None:
        detail = {"to": response.trigger, "by": response.by, "debugger_step": step}
        trained = model()
        watching = None if trained is None else observation_of(trained)
        number = step if watching is None else watching.recorder.step
        event = Event("note", number, time.time(), f"response: {words}", detail)
        events.append(event)
        if watching is not None:
            watching.background.put(event)

    return told
