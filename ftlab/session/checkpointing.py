"""Checkpoints that a watch makes by itself, and goes back to.

Who calls whom: `Observation` owns a `Keeper` where a watch was given a `Checkpoint`. It
hears the model's forward calls: at the first one of a new step the step before is over,
and nothing of the new one has been computed. A Trainer's step is over when it has
logged and evaluated, so there it saves behind that.
"""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch

from ftlab.probes.dynamo_private import (
    leave_to_python,
    resume_dynamo,
    suspend_dynamo,
)
from ftlab.probes.taps.forward import tap_forward
from ftlab.probes.torch_private import unseen_by_modes
from ftlab.records.errors import BadValueError, FtlabWarning
from ftlab.records.handle import HandleStack, rebind
from ftlab.records.plain_files import path_of
from ftlab.session.live_training import Training, training_of, trouble_of
from ftlab.session.observation import Observation
from ftlab.session.safe_save import safe_load, save, tell
from ftlab.session.saved_checkpoint import SavedCheckpoint

TRIES = 3
"""How often a run is put back to one checkpoint by itself: then it is left alone."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """When and where a watch saves checkpoints: ``watch(..., checkpoint=...)``.

    Only after a step whose loss, gradients, weights and moments are finite; when they
    are not, the next good step is saved instead.

    Parameters
    ----------
    folder, second
        Where ``checkpoint-<step>`` is put, and a copy, better on another disk.
    every
        Steps between two of them.
    keep
        How many to keep; older ones are removed once a new one is whole.
    on_anomaly
        ``"roll back"``: after a step whose loss or gradients are not finite, put
        weights, moments and scaler back to the last good checkpoint. The data, the
        schedule and the random generators go on. Three times in a row at most.

    Examples
    --------
    >>> import ftlab
    >>> ftlab.Checkpoint("checkpoints", every=0)
    Traceback (most recent call last):
    ...
    ftlab.records.errors.BadValueError: every=0: it is a number, 1 or more.
    """

    folder: str | Path
    every: int = 100
    keep: int = 2
    second: str | Path | None = None
    on_anomaly: Literal["roll back"] | None = None

    def __post_init__(self) -> None:
        for name, value in (("every", self.every), ("keep", self.keep)):
            if type(value) is not int or value < 1:
                msg = f"{name}={value!r}: it is a number, 1 or more."
                raise BadValueError(msg)
        if self.on_anomaly not in (None, "roll back"):
            msg = f"on_anomaly={self.on_anomaly!r}: allowed are None and 'roll back'."
            raise BadValueError(msg)
        path_of(self.folder, "folder", "Checkpoint('checkpoints')")
        path_of(self.second or "", "second", "second='/mnt/backup'")


class Keeper:
    """Saves checkpoints while a run is observed, and goes back to them."""

    def __init__(self, seen: Observation, asked: Checkpoint, trainer: Any) -> None:
        self._seen, self._asked, self._trainer = seen, asked, trainer
        self._target = trainer or seen.subject.model
        self._handles = HandleStack()
        self._begun = self._saved = seen.recorder.step
        self._answered = self._tries = 0
        self._failing = False

    def attach(self) -> None:
        """Begin to listen."""
        listener: Any = self
        self._handles.add(tap_forward(listener, self._seen.subject.model))
        if self._trainer is not None:
            name = "_maybe_log_save_evaluate"
            after = self._after(getattr(self._trainer, name))
            self._handles.add(rebind(self._trainer, name, after))

    def detach(self, ended: str) -> None:
        """Stop listening; the last step of a loop is saved if it is due."""
        self._handles.remove()
        if ended in ("detached", "finished") and self._trainer is None:
            self._save_if_due(self._seen.recorder.step)

    def on_forward(
        self, module: torch.nn.Module, inputs: Mapping[str, Any], graph: bool
    ) -> None:
        """See a new step begin."""
        step, last = self._seen.recorder.step, self._seen.latest
        if not graph or step == self._begun:
            return
        self._begun, trouble = step, trouble_of(last)
        if last is not None and last.step >= self._answered and trouble:
            self._answered = last.step + 1
            self._respond(trouble)
        elif self._trainer is None:
            self._save_if_due(step)

    def _after(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def around(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            self._save_if_due(int(self._trainer.state.global_step))
            return result

        return around

    def _save_if_due(self, steps: int) -> None:
        """Save after a multiple of ``every`` steps, or as soon as a step is good."""
        if steps // self._asked.every > self._saved // self._asked.every:
            self._guarded("saved", lambda: self._save(steps))

    def _save(self, steps: int) -> None:
        asked, training = self._asked, self._training()
        second = None if asked.second is None else Path(asked.second)
        if save(training, Path(asked.folder), second, asked.keep, bad=False):
            self._saved, self._tries = steps, 0

    def _training(self) -> Training:
        return training_of(self._target, "watch", seen=self._seen)

    def _guarded(self, what: str, work: Callable[[], object]) -> None:
        """Do it unseen by compilers and listeners; an error is one warning."""
        callback = suspend_dynamo()
        try:
            with torch.no_grad(), unseen_by_modes():
                work()
            self._failing = False
        except Exception as error:  # noqa: BLE001  training goes on
            if not self._failing:
                msg = f"No checkpoint was {what}: {error} Training goes on."
                warnings.warn(msg, FtlabWarning, stacklevel=2)
            self._failing = True
        finally:
            resume_dynamo(callback)

    def _respond(self, trouble: str) -> None:
        self._tries += 1
        if self._asked.on_anomaly is None or self._tries > TRIES + 1:
            return
        if self._tries <= TRIES:
            kept = {"schedule": False, "rng": False}
            self._guarded("taken", lambda: self.roll_back(**kept, why=trouble))
            return
        msg = (
            f"{trouble}, for the {self._tries}th time since the last checkpoint: the "
            "run is left as it is. Lower the learning rate, or stop it."
        )
        warnings.warn(msg, FtlabWarning, stacklevel=2)

    def roll_back(self, *, schedule: bool, rng: bool, why: str = "") -> SavedCheckpoint:
        """Put everything back to the last good checkpoint; ``why``: warn of it."""
        training = self._training()
        found = safe_load(self._asked.folder, second=self._asked.second)
        found.restore(self._target, schedule=schedule, rng=rng)
        for parameter in training.live.model.parameters():
            if parameter.grad is not None:
                parameter.grad.zero_()
        words = f"rolled back to {found.path.name}: {why or 'as asked'}"
        tell(training, words, {"path": str(found.path), "step": found.step})
        if why:
            msg = f"{why}: weights and optimizer are again those of {found.path.name}."
            warnings.warn(msg, FtlabWarning, stacklevel=4)
        return found


leave_to_python(Keeper.on_forward, callees=True)
