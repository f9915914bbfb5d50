"""Hears of loss scaling: which losses were scaled, and when it was undone."""

from collections.abc import Iterable
from typing import Any

import torch

from ftlab.probes.optimizer.optimizers import Optimizers
from ftlab.probes.precision.scaler import LossScaling, read_new_scale
from ftlab.probes.stepping.clip_work import ClipWork
from ftlab.probes.stepping.open_step import OpenStep
from ftlab.probes.subject import Subject
from ftlab.records.by_id import ById


class ScalerWork(ClipWork):
    """What a loop hears of scalers; a part of `ftlab.probes.stepping.loop.Loop`."""

    _subject: Subject
    _optimizers: Optimizers
    _scaling: LossScaling

    def __init__(self) -> None:
        super().__init__()
        self._stepping: Any = None
        self._numbers: ById[Any, int] = ById()
        self._scalers = 0

    def close(self) -> None:
        """End the step, if an update was attempted in it."""
        raise NotImplementedError

    def _is_elsewhere(self) -> bool:
        """Whether another thread ran the last forward."""
        raise NotImplementedError

    def _skipped(self, index: int) -> None:
        """See that a scaler did not step an optimizer."""
        raise NotImplementedError

    def _after_update(self) -> None:
        """Forget what was waiting for this update."""
        raise NotImplementedError

    def on_scale(self, scaler: Any, outputs: Any, scaled: Any) -> None:
        """Remember which scaler the next backward's loss went through."""
        if not self._is_elsewhere():
            self._scaling.pending = scaler
            self._scaling.remember(outputs, scaled)

    def after_unscale(self, scaler: Any, optimizer: Any) -> None:
        """Measure the gradients, now in true scale, once all of them are."""
        index = self._optimizers.index(optimizer)
        if index is None:
            return
        step = self._steps.now
        self._claim()
        step.unscaled.add(index)
        by_step = {"by_step": True} if self._stepping is not None else {}
        step.ledger.add("unscale", f"optimizer {index}", **by_step)
        self._steps.explain()
        if not step.measured and self._scaling.all_unscaled(step):
            self._steps.measure()

    def before_scaler_step(self, scaler: Any, optimizer: Any) -> None:
        """Begin a new step when this optimizer has had its turn in this one."""
        self._stepping = scaler
        index = self._optimizers.index(optimizer)
        if index is None:
            return
        if index in self._steps.now.attempted:
            self.close()
        self._number(scaler)

    def _number(self, scaler: Any) -> None:
        """Tell which scaler makes the step's last update, by the order of first use."""
        if scaler not in self._numbers:
            self._numbers[scaler] = self._scalers
            self._scalers += 1
        self._steps.now.values["scaler"] = float(self._numbers[scaler])

    def after_scaler_step(self, scaler: Any, optimizer: Any) -> None:
        """See that the scaler did not step the optimizer."""
        self._stepping = None
        index = self._optimizers.index(optimizer)
        if index is None:
            return
        if self._subject.scaler is None:
            self._subject.scaler = scaler
        step = self._steps.now
        if index not in step.attempted:
            if not step.measured:
                self._steps.measure()
            self._skipped(index)
        self._after_update()

    def after_scaler_update(self, scaler: Any) -> None:
        """Note the new scale."""
        step = self._steps.now
        if scaler is step.scaler or scaler is self._subject.scaler:
            read_new_scale(step, scaler)
            step.rescaled.append(scaler)

    def _past_scaler(self, step: OpenStep) -> dict[str, bool]:
        """Tell whether a scaler makes this step, or else the user has unscaled."""
        if self._stepping is not None:
            late = any(each is self._stepping for each in step.rescaled)
            return {"scaler": True} | ({"rescaled": True} if late else {})
        if step.scaler is None or not step.versions:
            return {}
        step.by_hand |= self._steps.versions() != step.versions
        return {"by_hand": True} if step.by_hand else {}

    def _are_scaled(self, parameters: Iterable[torch.Tensor]) -> bool:
        """Tell whether a gradient of these is known to be multiplied by the scale.

        Gradients that somebody has changed himself may have been divided by it.
        """
        step = self._steps.now
        if step.scaler is None:
            return False
        step.by_hand |= self._steps.versions() != step.versions
        if step.by_hand:
            return False
        true = self._scaling.true_now(step)
        return any(id(each) not in true for each in parameters)
