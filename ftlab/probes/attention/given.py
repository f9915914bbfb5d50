"""A model's forward for one batch, as a training would call it."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ftlab.probes.tokens.untouched import first_batches, untouched
from ftlab.records.attributes import attribute_of
from ftlab.records.errors import BadValueError


@dataclass(frozen=True, slots=True)
class Given:
    """What is looked at.

    Attributes
    ----------
    run
        Calls the model with a batch, on the way that training takes.
    """

    model: torch.nn.Module
    batch: dict[str, Any]
    run: Callable[[Mapping[str, Any]], Any]


def of_model(model: torch.nn.Module, batch: Mapping[str, Any]) -> Given:
    """Take a model and a batch; keys that its forward does not know are left out."""
    known = _parameters(model)

    def run(inputs: Mapping[str, Any]) -> Any:
        return model(**{k: v for k, v in inputs.items() if known is None or k in known})

    return Given(model, _moved(batch, model), run)


def of_trainer(trainer: Any, batch: Mapping[str, Any] | None = None) -> Given:
    """Take a trainer, and the first batch of its own data loader unless one is given.

    The forward is that of ``compute_loss``, in training mode: trainers add arguments.
    """
    model = trainer.model
    batch = dict(first_batches(trainer)[0]) if batch is None else batch

    def run(inputs: Mapping[str, Any]) -> Any:
        model.train()
        with untouched() as kept:
            kept.add_own(trainer)
            return trainer.compute_loss(model, dict(inputs))

    return Given(model, _moved(batch, model), run)


def _moved(batch: Mapping[str, Any], model: torch.nn.Module) -> dict[str, Any]:
    """Turn lists into tensors, and put tensors where the model is."""
    parameter = next(model.parameters(), None)
    device = "cpu" if parameter is None else parameter.device
    moved = {}
    for name, value in batch.items():
        known = _tensor(name, value) if _is_rows(value) else value
        moved[name] = known.to(device) if isinstance(known, torch.Tensor) else known
    return moved


def _tensor(name: str, value: Any) -> torch.Tensor:
    try:
        return torch.as_tensor(value)
    except ValueError as error:
        msg = (
            f"{name} is no table of numbers: {error}. Pass a batch as the training's "
            "collator makes it: ftlab.masks(model, collator(rows))."
        )
        raise BadValueError(msg) from error


def _is_rows(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "biuf"
    lists = isinstance(value, list) and len(value) > 0
    return lists and all(isinstance(each, list) for each in value)


def _parameters(model: torch.nn.Module) -> set[str] | None:
    """Return what a forward takes; ``None`` for anything."""
    inner = attribute_of(model, "get_base_model")
    model = inner() if callable(inner) else model
    parameters = inspect.signature(model.forward).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return None
    return set(parameters)
