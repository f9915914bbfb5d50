"""What is being watched: the model and the objects that train it.

Optimizers, schedulers and the scaler may appear after watching has begun; whoever sees
one first appends it here. The model is held weakly: a watch must not keep a model alive
that its user has deleted.
"""

import weakref
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch

from ftlab.records.errors import AttachError
from ftlab.records.facts import Facts


class Subject:
    """The live objects of one run.

    Parameters
    ----------
    model
        The module that was passed to `ftlab.watch`; held weakly.
    optimizers, schedulers, scaler
        What is known so far; more may be appended while training runs.
    tokenizer
        For padding and special token ids; may be ``None``.
    training
        Facts of the trainer, merged into `ftlab.records.facts.Facts.training`.
    on_death
        Called once when the model is garbage collected.
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
        self._model = weakref.ref(model)
        if on_death is not None:
            weakref.finalize(model, on_death).atexit = False
        self.optimizers = list(optimizers)
        self.schedulers = list(schedulers)
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
    def model(self) -> torch.nn.Module:
        """The watched model."""
        model = self._model()
        if model is None:
            msg = "The watched model has been deleted; watch the new one."
            raise AttachError(msg)
        return model
