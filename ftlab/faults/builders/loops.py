"""The loop bodies that the gallery's cases are trained with when the loop is right."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ftlab.faults.builders.tiny import adamw, batches, lora, token_loss
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
        losses = []
        for half in halves:
            loss = model(**half).loss / len(halves)
            loss.backward()
            losses.append(float(loss.detach()))
        update()
        optimizer.zero_grad()
        return sum(losses)

    styles = {"plain": plain, "zero-after": zero_after, "accumulate": accumulate}
    return styles[current().loop]


def plain_case(model: torch.nn.Module, lr: float = 1e-3, **settings: Any) -> Case:
    """Make the case of a model that AdamW trains in a correct loop.

    ``settings`` are those of `builders.tiny.adamw`.
    """
    optimizer = adamw(model, lr, **settings)
    return Case(model, optimizer, batches(), plain_step(model, optimizer))


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
