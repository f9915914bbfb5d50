"""What-if: try a paused step with one thing changed, before the real run takes it."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import torch

from ftlab.replay.control import Command
from ftlab.replay.stops.report import PauseReport
from ftlab.replay.stops.stop import Stop
from ftlab.replay.trials.commands import Trials


class WhatIf:
    """The commands of a debugger that execute the step with a change.

    Each executes it once more and comes back to the same stop, where nothing is
    changed; the report's ``trial`` says whether the step still goes wrong. What was
    tried last is what ``resume(with_patch=True)`` goes on with, for this step.

    At a stop in the optimizer's step it is that step alone which is executed again,
    from the weights and the state before it: forward and backward are over.
    """

    @property
    @abstractmethod
    def _stop(self) -> Stop | None:
        """Where the run waits, ``None`` when it does not."""

    @abstractmethod
    def _send(self, command: Command) -> PauseReport:
        """Give a command and block until the next stop."""

    @property
    def commands(self) -> Trials:
        """The same commands, made for this stop but not given.

        It is what a policy returns: ``on_pause=lambda _: dbg.commands.in_float32()``.
        """
        return Trials(self._stop)

    def patch(self, function: Callable[[torch.Tensor], torch.Tensor]) -> PauseReport:
        """Try the step with ``function`` of this operation's output in its place.

        The step is executed once more with the change; the report's ``trial`` says
        whether it still goes wrong. Then the run is at the same stop again, unchanged;
        ``resume(with_patch=True)`` goes on with the change, for this step. An optimizer
        that treats many parameters in one operation has ``function`` called for each.

        Examples
        --------
        ``dbg.patch(lambda x: x.clamp(max=1e4))``
        """
        return self._send(self.commands.patch(function))

    def in_float32(self) -> PauseReport:
        """Try the step with this operation computed in float32; see `patch`."""
        return self._send(self.commands.in_float32())

    def replace(self, op: str, function: Callable[..., Any]) -> PauseReport:
        """Try the step with ``function`` in place of all operations named ``op``.

        A name without an overload, ``"aten.div"``, means all of them, and backward
        calls some with a number: ``"aten.div.Tensor"`` leaves ``aten.div.Scalar`` as it
        is. Operations of backward are replaced as well, except those that differentiate
        a replaced one: ``function`` itself is differentiated there. That cannot be done
        where one function of torch makes several operations, as ``F.cross_entropy``:
        the derivative is still that of the operation then. What a checkpoint with
        ``use_reentrant=False`` computes again does not meet ``function``: such a trial
        may fail or stay non-finite where a change of the code would mend the step.

        What it returns for an operation in place is written where that would write.

        Examples
        --------
        ``dbg.replace("aten.log", lambda x: x.clamp(min=1e-9).log())``, and in an
        optimizer's step
        ``dbg.replace("aten.addcdiv_", lambda w, m, v, value: w + value * m / (v +
        1e-6))``
        """
        return self._send(self.commands.replace(op, function))

    def skip_sample(self, *samples: int) -> PauseReport:
        """Try the step without some samples of the batch; see `patch`."""
        return self._send(self.commands.skip_sample(*samples))

    def with_loss_scale(self, scale: float) -> PauseReport:
        """Try the step with another scale of its GradScaler; see `patch`."""
        return self._send(self.commands.with_loss_scale(scale))

    def with_lr(self, lr: float | str) -> PauseReport:
        """Try the optimizer's step with another learning rate, at a stop within it.

        Parameters
        ----------
        lr
            The rate for every group, ``1e-5``, or what to make of each group's own,
            ``"/10"`` or ``"*0.5"``. Taken by ``resume(with_patch=True)`` it holds for
            this step alone: schedulers see the rate that was there.

        Raises
        ------
        BadValueError
            When ``lr`` is no learning rate.
        NotReplayableError
            At a stop in forward or backward, which no learning rate changes.

        Examples
        --------
        ``dbg.with_lr("/10")``
        """
        return self._send(self.commands.with_lr(lr))
