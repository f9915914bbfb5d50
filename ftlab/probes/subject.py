"""What is being watched: the model and the objects that train it.

Optimizers, schedulers and the scaler may appear after watching has begun; whoever sees
one first adds it here. All are held weakly: a watch must not keep alive what its user
has deleted.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from ftlab.probes.optimizer.remains import GoneOptimizer, GoneScheduler, Met
from ftlab.probes.plain import readable
from ftlab.probes.taps.optimizer import unwrapped
from ftlab.records.errors import AttachError
from ftlab.records.facts import Facts
from ftlab.records.handle import when_gone


class Subject:
    """The live objects of one run.

    Parameters
    ----------
    model
        The module that was passed to `ftlab.watch`; held weakly.
    optimizers, schedulers, scaler
        What is known so far, wrapped by accelerate or not; more may be met while
        training runs.
    tokenizer
        For padding and special token ids; may be ``None``.
    training
        Facts of the trainer, merged into `ftlab.records.facts.Facts.training`.
    on_death
        Called once when the model is garbage collected and the subject is not.
    adapter_dir
        The folder that the model's adapter was loaded from: what is in it is compared
        with the model.
    trained_as
        Facts of the run that the adapter was trained in: its base weights and scaling
        are compared with the model's.

    Attributes
    ----------
    registrations
        How many parameters modules were heard to get since watching began.
    scaling
        What facts say of the scaler: of the last one, when that is gone.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        optimizers: Iterable[torch.optim.Optimizer] = (),
        *,
        schedulers: Iterable[Any] = (),
        scaler: Any = None,
        tokenizer: Any = None,
        training: dict[str, Any] | None = None,
        on_death: Callable[[], None] | None = None,
        adapter_dir: Path | None = None,
        trained_as: Facts | None = None,
    ) -> None:
        self._model = when_gone(model, on_death or bool)
        self.optimizers = optimizers
        self.schedulers = schedulers
        self.scaler = scaler
        self.tokenizer = tokenizer
        self.training = dict(training or {})
        self.adapter_dir = adapter_dir
        self.trained_as = trained_as
        self.registrations = 0

    @property
    def gone(self) -> bool:
        """Whether the watched model has been deleted."""
        return self._model() is None

    @property
    def stamp(self) -> tuple[object, ...]:
        """What differs when something has joined the run, at the price of nothing."""
        met = len(self._optimizers), len(self._schedulers), len(self._scaler)
        return self.registrations, *met, len(self.training)

    @property
    def model(self) -> torch.nn.Module:
        """The watched model."""
        model = self._model()
        if model is None:
            msg = "The watched model has been deleted; watch the new one."
            raise AttachError(msg)
        return model

    @property
    def optimizers(self) -> tuple[Any, ...]:
        """The optimizers by number; of each that is gone, what remains of it."""
        return self._optimizers.now()

    @optimizers.setter
    def optimizers(self, optimizers: Iterable[Any]) -> None:
        self._optimizers: Met[GoneOptimizer] = Met()
        for each in optimizers:
            self.add_optimizer(each)

    @property
    def live_optimizers(self) -> dict[int, Any]:
        """The optimizers that are there, by number."""
        return {number: each for number, each, _ in self._optimizers.alive()}

    def follow_groups(self) -> None:
        """Look where the optimizers' groups are, for when they are gone."""
        for _, optimizer, remains in self._optimizers.alive():
            remains.follow(optimizer)

    def add_optimizer(self, optimizer: Any) -> int:
        """Return the number that a new optimizer has for good."""
        optimizer = unwrapped(optimizer)
        remains = GoneOptimizer(optimizer)
        return self._optimizers.add(optimizer, remains, remains.settle)

    def optimizer_number(self, optimizer: Any) -> int | None:
        """Return the number of a known optimizer."""
        return self._optimizers.number(unwrapped(optimizer))

    @property
    def schedulers(self) -> tuple[Any, ...]:
        """The schedulers by number; of each that is gone, what remains of it."""
        return self._schedulers.now()

    @schedulers.setter
    def schedulers(self, schedulers: Iterable[Any]) -> None:
        self._schedulers: Met[GoneScheduler] = Met()
        for each in schedulers:
            self.add_scheduler(each)

    def add_scheduler(
        self, scheduler: Any, facts: Mapping[str, Any] | None = None
    ) -> int:
        """Return the number that a new scheduler has for good.

        Accelerate's wrapper leaves steps out: what is seen is the one within it.
        """
        inner = vars(scheduler).get("scheduler", scheduler)
        return self._schedulers.add(inner, GoneScheduler(facts or {}))

    def scheduler_number(self, scheduler: Any) -> int | None:
        """Return the number of a known scheduler."""
        return self._schedulers.number(scheduler)

    @property
    def scaler(self) -> Any:
        """The gradient scaler; ``None`` where there is none, or no longer."""
        return next((each for _, each, _ in self._scaler.alive()), None)

    @scaler.setter
    def scaler(self, scaler: Any) -> None:
        self._scaler: Met[None] = Met()
        if scaler is not None:
            self._scaler.add(scaler, None)
        self.scaling = readable(
            scaler=lambda: scaler is not None and bool(scaler.is_enabled()),
            scaler_class=lambda: "" if scaler is None else type(scaler).__name__,
        )

    def remember(
        self,
        optimizers: Sequence[Mapping[str, Any]],
        schedulers: Sequence[Mapping[str, Any]],
    ) -> None:
        """Remember facts of what is there, for when it is gone."""
        read = dict(enumerate(optimizers))
        for number, _, holder in self._optimizers.alive():
            holder.misfits = list(read.get(number, {}).get("misfits", ()))
        read = dict(enumerate(schedulers))
        for number, _, schedule in self._schedulers.alive():
            schedule.facts = dict(read.get(number, schedule.facts))
