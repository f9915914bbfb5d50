"""The loop bodies that the gallery's cases are trained with when the loop is right."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from ftlab.faults.builders.tiny import adamw, batches, token_loss
from ftlab.faults.fault import Case, StepFunction
from ftlab.faults.variation import current


def plain_step(
    model: torch.nn.Module, optimizer: Any, scheduler: Any = None
) -> StepFunction:
    """Return a correct loop body for a model that computes its own loss.

    It is written in the style that the variation asks for.
    """

    def update() -> None:
        optimizer.step()
        if scheduler is not None:
            scheduler.step()

    def plain(batch: Any) -> float:
        optimizer.zero_grad()
        loss = model(**batch).loss
        loss.backward()
        update()
        return float(loss.detach())

    def zero_after(batch: Any) -> float:
        loss = model(**batch).loss
        loss.backward()
        update()
        optimizer.zero_grad(set_to_none=False)
        return float(loss.detach())

    def accumulate(batch: Any) -> float:
        halves = [{k: v[part::2] for k, v in batch.items()} for part in (0, 1)]
        total = backwards(model(**half).loss / len(halves) for half in halves)
        update()
        optimizer.zero_grad()
        return total

    styles = {"plain": plain, "zero-after": zero_after, "accumulate": accumulate}
    return styles[current().loop]


def backwards(losses: Iterable[Any], scaler: Any = None) -> float:
    """Run the backward of each micro-batch's loss as it is made, and add them up."""
    total = 0.0
    for loss in losses:
        (loss if scaler is None else scaler.scale(loss)).backward()
        total += float(loss.detach())
    return total


def plain_case(
    model: Any,
    lr: float = 1e-3,
    rows: Sequence[Any] | None = None,
    *,
    weight_decay: float = 0.0,
    **settings: Any,
) -> Case:
    """Make the case of a model that AdamW trains in a correct loop.

    Parameters
    ----------
    settings
        Of `loop_case`.
    """
    optimizer = adamw(model, lr, weight_decay=weight_decay)
    return loop_case(model, optimizer, rows, **settings)


def loop_case(
    model: Any,
    optimizer: Any,
    rows: Sequence[Any] | None = None,
    *,
    loss_of: Callable[[Any], torch.Tensor] | None = None,
    clip: float | None = None,
    **settings: Any,
) -> Case:
    """Make the case of a model that is trained in a correct loop.

    Parameters
    ----------
    rows
        The batches; those of `builders.tiny.batches` by default.
    loss_of
        Gives the loss of a batch; the model's own by default.
    clip
        The norm that gradients are clipped to, where ``loss_of`` is given.
    settings
        Of the case. A ``scheduler`` is stepped behind each update.
    """
    rows = batches() if rows is None else rows
    scheduler = settings.get("scheduler")
    if loss_of is None:
        step = plain_step(model, optimizer, scheduler)
    else:
        step = loss_step(loss_of, optimizer, scheduler, clip)
    return Case(model, optimizer, rows, step, **settings)


def loss_step(
    loss_of: Callable[[Any], torch.Tensor],
    optimizer: Any,
    scheduler: Any = None,
    clip: float | None = None,
) -> StepFunction:
    """Return a correct loop body for a loss of one's own.

    Parameters
    ----------
    loss_of
        Gives the loss of a batch.
    clip
        The norm that gradients are clipped to, if they are.
    """

    def step(batch: Any) -> float:
        optimizer.zero_grad()
        loss = loss_of(batch)
        loss.backward()
        if clip is not None:
            groups = (group["params"] for group in optimizer.param_groups)
            torch.nn.utils.clip_grad_norm_([p for g in groups for p in g], clip)
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
        return float(loss.detach())

    return step


def scaled_step(
    loss_of: Callable[[Any], torch.Tensor], optimizer: Any, scaler: Any
) -> StepFunction:
    """Return a correct loop body for a loss that a GradScaler scales."""

    def step(batch: Any) -> float:
        optimizer.zero_grad()
        loss = loss_of(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return float(loss.detach())

    return step


def cast_loss(
    model: Any, dtype: torch.dtype, *, enabled: bool = True
) -> Callable[[Any], torch.Tensor]:
    """Return the loss of a model's own, under autocast."""

    def loss_of(batch: Any) -> torch.Tensor:
        with torch.autocast("cpu", dtype, enabled=enabled):
            return model(**batch).loss

    return loss_of


def near_base(model: Any) -> Callable[[Any], torch.Tensor]:
    """Return a loss with a KL to the model without its adapter."""

    def loss_of(batch: Any) -> torch.Tensor:
        inputs = {"input_ids": batch["input_ids"]}
        with torch.no_grad(), model.disable_adapter():
            wanted = model(**inputs).logits.log_softmax(-1)
        logits = model(**inputs).logits
        kl = torch.nn.functional.kl_div(
            logits.log_softmax(-1), wanted, log_target=True, reduction="batchmean"
        )
        return token_loss(logits, batch) + 0.05 * kl

    return loss_of
