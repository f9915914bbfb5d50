"""EXP003, accumulated-gradients: micro-batches give the gradients of one batch.

## What must hold
The gradients of two micro-batches, accumulated as the trainer does, are those of one
batch of the same rows: each trained token counts alike.

## Why
Where each micro-batch's loss is a mean of its own, tokens of short answers count more
than those of long ones, and the loss depends on how rows fall into micro-batches.

## When it does not apply
Loops of one's own (how they accumulate is not known), trainers that accumulate nothing,
batches with fewer rows than micro-batches or without labels, AdaLoRA, whose regulariser
counts once for each micro-batch.

## What to try
Divide by the labels of all micro-batches together: ``num_items_in_batch`` in
``compute_loss``, or a loss of ``reduction="sum"`` over their count.

## References
- transformers, "Fixing gradient accumulation"
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import torch

from ftlab.executions.listening import shared_name
from ftlab.executions.side import NotApplicableError, WithoutDropout, undisturbed
from ftlab.executions.wide import Wide
from ftlab.experiments.experiment import Experiment
from ftlab.experiments.live import Live
from ftlab.records.finding import Place
from ftlab.records.outcome import Outcome
from ftlab.replay.torch_private import outside_modes

ROUNDINGS = 30
"""Roundings of the gradients' dtype that sums in two parts may be apart, relative."""

SMALL = 1e-3
"""Share of the largest gradient below which one is next to 0, as a key's bias is."""

Gradients = dict[str, torch.Tensor]


class AccumulatedGradients(Experiment):
    """Micro-batches with different numbers of labels, and one batch."""

    code = "EXP003"
    name = "accumulated-gradients"
    relation = "micro-batches give the gradients of one batch of the same rows"
    cause = "Micro-batches are weighted by something else than their trained tokens."
    fix = (
        "Divide by the labels of all micro-batches together (num_items_in_batch in "
        "compute_loss), not by each one's own."
    )

    def run(self, live: Live) -> Outcome:
        """Accumulate over parts, and take the whole."""
        if live.trainer is None or live.loss is None:
            msg = "how the loop accumulates is not known; pass a trainer"
            raise NotApplicableError(msg)
        steps = int(live.trainer.args.gradient_accumulation_steps)
        if steps < 2:
            msg = "gradient_accumulation_steps=1: nothing is accumulated"
            raise NotApplicableError(msg)
        whole, parts = in_parts(live, steps)
        with undisturbed(live.side()), WithoutDropout(), Wide():
            one = _gradients(live, [whole])
            many = _gradients(live, parts)
        largest = max((float(g.double().norm()) for g in one.values()), default=0.0)
        found = {
            name: apart(one[name], many[name], SMALL * largest)
            for name in one
            if name in many
        }
        if not found:
            msg = "the step leaves no gradients"
            raise NotApplicableError(msg)
        worst = max(found, key=lambda name: found[name])
        limit = ROUNDINGS * torch.finfo(one[worst].dtype).eps
        evidence: dict[str, float | int | str] = {"relative": found[worst]}
        if found[worst] <= limit:
            says = f"{len(found)} gradients differ by {found[worst]:.1e} at most"
            return self.outcome("holds", says, evidence=evidence)
        return self.outcome(
            "broken",
            f"the gradient of {worst} differs by {found[worst]:.2g} of its size",
            places=(Place("param", worst),),
            evidence=evidence,
        )


def in_parts(
    live: Live, count: int
) -> tuple[Mapping[str, Any], list[Mapping[str, Any]]]:
    """Return a batch whose first row has few labels, and that row and the others.

    Raises
    ------
    NotApplicableError
        The batch has not so many rows, or not enough labels.
    """
    rows, labels = live.rows(), live.batch.get("labels")
    configs = getattr(live.model, "peft_config", {}).values()
    if any(getattr(each, "orth_reg_weight", 0) for each in configs):
        msg = "its adapter adds a term to the loss of each part, whatever is in it"
        raise NotApplicableError(msg)
    if rows < count:
        msg = f"the batch has {rows} rows for {count} parts of it"
        raise NotApplicableError(msg)
    if not isinstance(labels, torch.Tensor) or labels.dim() != 2:
        msg = "it takes two rows with labels by token"
        raise NotApplicableError(msg)
    few = labels.clone()
    trained = (few[0] != -100).nonzero().flatten()
    few[0, trained[len(trained) // 3 :]] = -100
    if not bool((few[0, 1:] != -100).any()) or not bool((few[1:, 1:] != -100).any()):
        msg = "the first row, or the others, have no labels to spare"
        raise NotApplicableError(msg)
    whole = {**live.batch, "labels": few}
    return whole, [part_of(whole, part) for part in _slices(rows, count)]


def part_of(batch: Mapping[str, Any], part: slice) -> Mapping[str, Any]:
    """Return some rows of a batch."""
    rows = len(batch["input_ids"])
    return {
        key: value[part]
        if isinstance(value, torch.Tensor) and value.shape[:1] == (rows,)
        else value
        for key, value in batch.items()
    }


def _slices(rows: int, parts: int) -> list[slice]:
    """Divide rows: the first alone, the others in parts of about one size."""
    bounds = [1 + (rows - 1) * at // (parts - 1) for at in range(parts)]
    return [slice(0, 1), *(slice(low, high) for low, high in pairwise(bounds))]


def _gradients(live: Live, parts: list[Mapping[str, Any]]) -> Gradients:
    trainer = live.trainer
    trainer.current_gradient_accumulation_steps = len(parts)
    live.model.zero_grad()
    count = getattr(trainer, "_get_num_items_in_batch", None)
    items = None if count is None else count(list(parts), trainer.args.device)
    for part in parts:
        trainer.training_step(live.model, dict(part), items)
    with outside_modes():
        return {
            shared_name(name): p.grad.detach().clone()
            for name, p in live.model.named_parameters()
            if p.grad is not None and p.grad.layout == torch.strided
        }


def apart(a: torch.Tensor, b: torch.Tensor, least: float) -> float:
    """Return what ``b`` is from ``a``, over the size of ``a`` or ``least``."""
    size = max(float(a.double().norm()), least)
    return float((a.double() - b.double()).norm()) / size if size else 0.0
