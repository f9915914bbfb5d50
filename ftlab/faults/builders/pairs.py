"""A model that predicts the next token from the last one, and how often it is right."""

import itertools
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.optim.lr_scheduler import ReduceLROnPlateau

from ftlab.faults.builders.loops import loss_step
from ftlab.faults.builders.tiny import VOCABULARY, Batch, adamw, batches, set_seed
from ftlab.faults.fault import Case

Measure = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
"""From the scores of tokens and their labels to one number."""


def judged_by_share(*, right: bool, **settings: Any) -> Case:
    """Train on two batches, and step a plateau's scheduler after each update.

    Parameters
    ----------
    right
        With the share of tokens that are right, or else of those that are wrong.
    settings
        Of ReduceLROnPlateau.
    """

    def share(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return ((logits.argmax(-1) == labels) == right).float().mean()

    return _judged(share, every=1, **settings)


def judged_by_loss(*, sign: float = 1.0, **settings: Any) -> Case:
    """Train on two batches, and judge every third update by the loss, times ``sign``.

    Parameters
    ----------
    sign
        1 for the loss, -1 for the likelihood.
    settings
        Of ReduceLROnPlateau.
    """

    def loss(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return sign * cross_entropy(logits, labels)

    return _judged(loss, every=3, patience=0, **settings)


def _judged(measure: Measure, *, every: int, **settings: Any) -> Case:
    set_seed(0)
    model = nn.Sequential(nn.Embedding(VOCABULARY, 32), nn.Linear(32, VOCABULARY))
    optimizer = adamw(model, lr=0.03)
    scheduler = ReduceLROnPlateau(optimizer, **settings)
    rows = batches(2)
    steps = itertools.count(1)

    def compared(row: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        logits = model(row["input_ids"][:, :-1])
        return logits.flatten(0, 1), row["labels"][:, 1:].flatten()

    @torch.no_grad()
    def judge() -> float:
        parts = zip(*map(compared, rows), strict=True)
        return measure(*map(torch.cat, parts)).item()

    train = loss_step(lambda batch: cross_entropy(*compared(batch)), optimizer)

    def step(batch: Batch) -> float:
        loss = train(batch)
        if next(steps) % every == 0:
            scheduler.step(judge())
        return loss

    return Case(model, optimizer, rows, step, scheduler=scheduler)
