"""The commands of what-if, made for a stop and checked against it."""

from collections.abc import Callable
from typing import Any

import torch

from ftlab.records.errors import BadValueError, NotPausedError, NotReplayableError
from ftlab.replay.blaming.blame import Blaming
from ftlab.replay.control import Command
from ftlab.replay.stops.report import PauseReport
from ftlab.replay.stops.stop import Stop
from ftlab.replay.trials import changes
from ftlab.replay.trials.changes import Change, Plan
from ftlab.replay.trials.rates import rate_of
from ftlab.replay.waiting import no_way_back

IN_UPDATE = ("optimizer", "state")
"""Kinds of a report whose stop is in the optimizer's step."""


class Trials:
    """Makes the commands that execute a step with a change, and that take one.

    What is made here is what a policy (``debug(..., on_pause=)``) may return.

    Parameters
    ----------
    stop
        Where the run waits; ``None`` makes commands that the run itself will refuse.
    """

    def __init__(self, stop: Stop | None) -> None:
        self._stop = stop

    def patch(self, function: Callable[[torch.Tensor], torch.Tensor]) -> Command:
        """Let ``function`` have the last word on this operation's output."""
        return self._try(changes.patch(self._index("patch"), function))

    def in_float32(self) -> Command:
        """Compute this operation in float32."""
        return self._try(changes.in_float32(self._index("in_float32")))

    def replace(self, op: str, function: Callable[..., Any]) -> Command:
        """Compute ``function`` in place of all operations named ``op``.

        Raises
        ------
        BadValueError
            When the step has no such operation.
        """
        changes.check_op(() if self._stop is None else self._stop.sites, op)
        return self._try(changes.replace_op(op, function))

    def skip_sample(self, *samples: int) -> Command:
        """Leave some samples out of the batch.

        Raises
        ------
        BadValueError
            When the batch has no such samples, or none would be left.
        """
        self._refuse_in_update("skip_sample")
        if self._stop is not None:
            changes.without_samples(self._stop.batch, samples)
        label = f"without sample {', '.join(map(str, samples))}"
        return self._try(lambda _: Change(label, skip=samples))

    def with_loss_scale(self, scale: float) -> Command:
        """Let the step's GradScaler multiply with ``scale``.

        Raises
        ------
        BadValueError
            When it is not above 0.
        """
        self._refuse_in_update("with_loss_scale")
        if not scale > 0:
            msg = f"with_loss_scale({scale!r}): pass a number above 0, such as 2.0**8."
            raise BadValueError(msg)
        change = Change(f"loss scale {scale:g}", scale=float(scale))
        return self._try(lambda _: change)

    def with_lr(self, lr: float | str) -> Command:
        """Let the optimizer step with another learning rate.

        Raises
        ------
        BadValueError
            When ``lr`` is no learning rate.
        NotReplayableError
            When the stop is before the optimizer's step.
        """
        rate = rate_of(lr)
        if self._report is not None and self._report.kind not in IN_UPDATE:
            msg = (
                "with_lr: this stop is before the optimizer step, where the learning "
                "rate has no effect yet: the step fails with any. It works at a stop "
                "in the optimizer step; patch(...), replace(...), in_float32(), "
                "skip_sample(...) and with_loss_scale(...) work here."
            )
            raise NotReplayableError(msg)
        words = f"lr {lr:g}" if isinstance(lr, float | int) else f"lr {lr.strip()}"
        return self._try(lambda _: Change(words, rate=rate))

    def blame(self) -> Command:
        """Take the step apart: what each sample adds to its loss and gradient.

        Raises
        ------
        NotPausedError
            Without a stop.
        NotReplayableError
            When the step cannot run again.
        """
        report = self._report
        if self._stop is None or report is None:
            msg = "blame: there is no stop; run() the training to one."
            raise NotPausedError(msg)
        if report.kind in IN_UPDATE or report.phase == "optimizer":
            msg = (
                "blame: this stop is in the optimizer's step, where forward and "
                "backward are over. Use abort(), and stop earlier in the next run."
            )
            raise NotReplayableError(msg)
        if not report.replayable:
            why = report.notes[-1] if report.notes else "The weights have changed."
            msg = f"blame: this step cannot run again. {why}"
            raise NotReplayableError(msg)
        return Command("visit", visitor=Blaming(report, self._stop.decode))

    def resume(self, *, with_patch: bool) -> Command:
        """Let training go on, with the step as it is or as it was tried last.

        Raises
        ------
        BadValueError
            When nothing was tried at this stop, or it is in an earlier step.
        """
        if with_patch and self._report is not None and self._report.behind is not None:
            msg = (
                "resume(with_patch=True): this is an earlier step, which is only "
                "inspected. resume() returns to the present; try the change there."
            )
            raise BadValueError(msg)
        if with_patch and self._report is not None and not self._report.trial:
            msg = (
                "resume(with_patch=True): nothing was tried at this stop; call "
                "patch(...), replace(...), in_float32(), skip_sample(...), "
                "with_loss_scale(...) or with_lr(...) first."
            )
            raise BadValueError(msg)
        return Command("resume", with_change=with_patch)

    @property
    def _report(self) -> PauseReport | None:
        return None if self._stop is None else self._stop.report

    def _refuse_in_update(self, command: str) -> None:
        if self._report is not None and self._report.kind in IN_UPDATE:
            msg = (
                f"{command}: this stop is in the optimizer's step, where forward and "
                "backward are over; patch(...), replace(...), in_float32() and "
                "with_lr(...) work here."
            )
            raise NotReplayableError(msg)

    def _index(self, command: str) -> int:
        stop = self._stop
        if stop is not None and stop.op is None and stop.report.replayable:
            msg = f"{command}: this stop is not at an operation; back() leads to one."
            raise NotPausedError(msg)
        # Without a stop the worker will say what to call first.
        return 0 if stop is None or stop.op is None else stop.op.site.index

    def _try(self, plan: Plan) -> Command:
        if self._report is not None and not self._report.replayable:
            raise NotReplayableError(no_way_back(self._report))
        return Command("try", change=plan)
