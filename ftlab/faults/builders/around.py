"""Loops in which users do something of their own: around the steps, or in each."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ftlab.faults.builders.loops import cast_loss, plain_step
from ftlab.faults.builders.tiny import adamw, batches, lora
from ftlab.faults.fault import Case, StepFunction

Meddling = Callable[[int], object]
"""What a user does around a step, whose number it is given, counted from 0."""


def _nothing(_: int) -> None:
    pass


def loop_with(
    model: Any,
    optimizer: Any,
    rows: Sequence[Any],
    *,
    before: Meddling = _nothing,
    after: Meddling = _nothing,
    train: StepFunction | None = None,
    **settings: Any,
) -> Case:
    """Make the case of a loop in which something is done around its steps.

    Parameters
    ----------
    before, after
        Called in front of each step and behind it.
    train
        The step; a `plain_step` by default.
    settings
        Of the case.
    """
    train = plain_step(model, optimizer) if train is None else train

    def step(batch: Any) -> float:
        done = len(case.losses)
        before(done)
        loss = train(batch)
        after(done)
        return loss

    case = Case(model, optimizer, rows, step, **settings)
    return case


def at(step: int, do: Callable[[], object]) -> Meddling:
    """Return what does something once: around the step of this number."""
    return lambda done: do() if done == step else None


def every(count: int, do: Callable[[], object]) -> Meddling:
    """Return what does something around the last one of every ``count`` steps."""
    return lambda done: do() if done % count == count - 1 else None


def by_epoch(epoch: int, lr: float, t_max: int) -> Case:
    """Make the case of a LoRA under a cosine that is stepped after each epoch.

    Parameters
    ----------
    epoch
        Updates of an epoch.
    t_max
        The epochs of half a wave.
    """
    model = lora()
    optimizer = adamw(model, lr=lr)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, t_max)

    def end() -> None:
        scheduler.step()

    after = every(epoch, end)
    return loop_with(model, optimizer, batches(epoch), after=after, scheduler=scheduler)


def updated_by(
    update: Callable[[], object],
    model: Any,
    optimizer: Any,
    *,
    loss_of: Callable[[Any], torch.Tensor] | None = None,
    clears: Any = None,
    rows: Sequence[Any] | None = None,
    dtype: torch.dtype | None = None,
    **settings: Any,
) -> Case:
    """Make the case of a loop whose update is somebody's own.

    Parameters
    ----------
    update
        Called when the gradients are there; steps, clips, and whatever else is done.
    loss_of
        Gives the loss of a batch; the model's own by default.
    clears
        Whose ``zero_grad`` begins a step; the optimizer's by default.
    rows
        The batches; those of `builders.tiny.batches` by default.
    dtype
        Of the autocast around the forward, if there is one.
    settings
        Of the case. A ``scaler`` scales the loss.
    """
    clears = optimizer if clears is None else clears
    scaler = settings.get("scaler")
    loss_of = cast_loss(model, dtype) if dtype is not None else loss_of

    def step(batch: Any) -> float:
        clears.zero_grad()
        loss = model(**batch).loss if loss_of is None else loss_of(batch)
        (loss if scaler is None else scaler.scale(loss)).backward()
        update()
        return float(loss.detach())

    rows = batches() if rows is None else rows
    return Case(model, optimizer, rows, step, **settings)
