"""Hand-written training loops: the steps that a debugger calls again."""

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import torch

from benchmarks.anomalies.case import Batch, Live

UPDATE = "update"
"""Key of a micro-batch: whether the optimizer steps after it. Yes where it lacks."""

LossOf = Callable[[Batch], torch.Tensor]


def adamw(model: torch.nn.Module, **settings: Any) -> torch.optim.Optimizer:
    """Build AdamW over what trains, with a small step."""
    return torch.optim.AdamW(_trainable(model), **({"lr": 1e-4} | settings))


def sgd(model: torch.nn.Module, **settings: Any) -> torch.optim.Optimizer:
    """Build SGD over what trains; it keeps no variance that fp16 could not hold."""
    return torch.optim.SGD(_trainable(model), **({"lr": 1e-4} | settings))


def own_loss(model: Any) -> LossOf:
    """Let the model compute its own loss."""

    def loss_of(batch: Batch) -> torch.Tensor:
        return model(**batch).loss

    return loss_of


def loop(
    model: torch.nn.Module,
    batches: Sequence[Batch],
    loss_of: LossOf | None = None,
    *,
    optimizer: Any = None,
    autocast: torch.dtype | None = None,
    scaler: Any = None,
    zero_first: bool = False,
) -> Live:
    """Build a run out of a model and the function that makes its loss.

    Gradients are cleared after each update, or with ``zero_first`` before each step.
    """
    optimizer = adamw(model) if optimizer is None else optimizer
    compute = own_loss(model) if loss_of is None else loss_of

    def step(batch: Batch) -> torch.Tensor:
        if zero_first:
            optimizer.zero_grad()
        inputs = {key: value for key, value in batch.items() if key != UPDATE}
        with _autocast(autocast):
            loss = compute(inputs)
        (loss if scaler is None else scaler.scale(loss)).backward()
        if batch.get(UPDATE, True):
            _update(optimizer, scaler)
            if not zero_first:
                optimizer.zero_grad()
        return loss.detach()

    return Live(model, optimizer, step, batches, scaler)


def whole_step(
    model: torch.nn.Module, micros: Sequence[Sequence[Batch]], loss_of: LossOf
) -> Live:
    """Build a run whose step goes through all micro-batches of an update itself."""
    optimizer = adamw(model)

    def step(batch: Batch) -> torch.Tensor:
        total = torch.zeros(())
        for micro in batch["micros"]:
            loss = loss_of(micro) / len(batch["micros"])
            loss.backward()
            total += loss.detach()
        _update(optimizer, None)
        optimizer.zero_grad()
        return total

    return Live(model, optimizer, step, [{"micros": list(group)} for group in micros])


def accumulated(made: Sequence[Batch], count: int) -> list[Batch]:
    """Mark every ``count``-th micro-batch as the one after which weights change."""
    return [
        batch | {UPDATE: index % count == count - 1} for index, batch in enumerate(made)
    ]


def _update(optimizer: Any, scaler: Any) -> None:
    if scaler is None:
        optimizer.step()
    else:
        scaler.step(optimizer)
        scaler.update()


def _autocast(dtype: torch.dtype | None) -> Any:
    if dtype is None:
        return contextlib.nullcontext()
    return torch.autocast("cpu", dtype=dtype)


def _trainable(model: torch.nn.Module) -> list[torch.nn.Parameter]:
    return [p for p in model.parameters() if p.requires_grad]
