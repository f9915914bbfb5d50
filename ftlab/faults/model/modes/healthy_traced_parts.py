"""Graphs whose dropouts are constants, and in which each of them is right.

A frozen part was traced in evaluation mode and stays as it was, though
``model.train()`` sets its ``training`` to True. The one that learns was traced in
training mode, and is replaced for each evaluation; a third one is a script, which
follows the mode.
"""

import warnings
from typing import Any

import torch
from torch import nn

from ftlab.faults.builders import Case, Healthy, every, loop_with, loss_step
from ftlab.faults.builders.refined import Refined, traced
from ftlab.faults.builders.tiny import VOCABULARY, adamw, batches, token_loss

EVERY = 20


class Thrice(nn.Module):
    """Parts behind one another: a frozen one, one that learns, and a script."""

    def __init__(self) -> None:
        super().__init__()
        self.whole = Refined()
        kept = Refined().refiner.requires_grad_(False)
        self.kept = traced(kept, training=False)
        self.learning: Any = traced(self.whole.refiner, training=True)
        self.quiet: Any = traced(self.whole.refiner, training=False)
        last = nn.Sequential(nn.Dropout(0.1), nn.Linear(VOCABULARY, VOCABULARY))
        with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
            self.whole.refiner = torch.jit.script(last)

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        """Return logits."""
        logits: torch.Tensor = self.whole(input_ids)
        part = self.learning if self.training else self.quiet
        return logits + part(logits) + self.kept(logits)


def build() -> Case:
    """Build a training with evaluations."""
    model = Thrice().train()
    optimizer = adamw(model)
    rows = batches(9)

    def loss_of(batch: Any) -> torch.Tensor:
        return token_loss(model(batch["input_ids"]), batch)

    train = loss_step(loss_of, optimizer)

    def evaluate() -> None:
        model.eval()
        with torch.no_grad():
            loss_of(rows[-1])
        model.train()

    return loop_with(
        model, optimizer, rows[:-1], train=train, after=every(EVERY, evaluate)
    )


HEALTHY = Healthy(
    "graphs in which dropouts are off, or on, for good",
    looks_like=("MOD019", "MOD006", "MOD010"),
)
