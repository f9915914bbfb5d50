"""What-if: try a paused step with one thing changed, before the real run takes it."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import torch

from ftlab.records.errors import BadValueError, NotPausedError, NotReplayableError
from ftlab.replay.control import Command
from ftlab.replay.engine import no_way_back
from ftlab.replay.stops.report import PauseReport
from ftlab.replay.stops.stop import Stop
from ftlab.replay.trials import changes
from ftlab.replay.trials.changes import Change, Plan


class WhatIf:
    """The commands of a debugger that execute the step with a change.

    Each executes it once more and comes back to the same stop, where nothing is
    changed; the report's ``trial`` says whether the step still goes wrong. What was
    tried last is what ``resume(with_patch=True)`` goes on with, for this step.
    """

    @property
    @abstractmethod
    def _stop(self) -> Stop | None:
        """Where the run waits, ``None`` when it does not."""

    @abstractmethod
    def _send(self, command: Command) -> PauseReport:
        """Give a command and block until the next stop."""

    def patch(self, function: Callable[[torch.Tensor], torch.Tensor]) -> PauseReport:
        """Try the step with ``function`` of this operation's output in its place.

        The step is executed once more with the change; the report's ``trial`` says
        whether it still goes wrong. Then the run is at the same stop again, unchanged;
        ``resume(with_patch=True)`` goes on with the change, for this step.

        Examples
        --------
        ``dbg.patch(lambda x: x.clamp(max=1e4))``
        """
        return self._try(changes.patch(self._index("patch"), function))

    def in_float32(self) -> PauseReport:
        """Try the step with this operation computed in float32; see `patch`."""
        return self._try(changes.in_float32(self._index("in_float32")))

    def replace(self, op: str, function: Callable[..., Any]) -> PauseReport:
        """Try the step with ``function`` in place of all operations named ``op``.

        Examples
        --------
        ``dbg.replace("aten.log", lambda x: x.clamp(min=1e-9).log())``
        """
        changes.check_op(() if self._stop is None else self._stop.sites, op)
        return self._try(changes.replace_op(op, function))

    def skip_sample(self, *samples: int) -> PauseReport:
        """Try the step without some samples of the batch; see `patch`."""
        if self._stop is not None:
            changes.without_samples(self._stop.batch, samples)
        label = f"without sample {', '.join(map(str, samples))}"
        return self._try(lambda _: Change(label, skip=samples))

    def with_loss_scale(self, scale: float) -> PauseReport:
        """Try the step with another scale of its GradScaler; see `patch`."""
        if not scale > 0:
            msg = f"with_loss_scale({scale!r}): pass a number above 0, 2.0**8 for one."
            raise BadValueError(msg)
        change = Change(f"loss scale {scale:g}", scale=float(scale))
        return self._try(lambda _: change)

    def _index(self, command: str) -> int:
        stop = self._stop
        if stop is not None and stop.op is None:
            msg = f"{command}: this stop is at no operation; back() leads to one."
            raise NotPausedError(msg)
        # Without a stop the worker will say what to call first.
        return 0 if stop is None or stop.op is None else stop.op.site.index

    def _try(self, plan: Plan) -> PauseReport:
        stop = self._stop
        if stop is not None and not stop.report.replayable:
            raise NotReplayableError(no_way_back(stop.report))
        return self._send(Command("try", change=plan))
