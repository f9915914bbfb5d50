"""Lookahead by hand: every 5 steps the weights are drawn back to slow ones, and stay.

Each evaluation comes right after that, so that it never sees other weights.
"""

from typing import Any

import torch

from ftlab.faults.builders.copies import copied, drawn_to, put
from ftlab.faults.builders.loops import plain_step
from ftlab.faults.builders.tiny import adamw, base, batches
from ftlab.faults.fault import Case, Healthy

EVERY = 5


def build() -> Case:
    """Train all weights."""
    model = base()
    optimizer = adamw(model)
    train = plain_step(model, optimizer)
    rows = batches(9)
    slow = copied(model)

    def step(batch: Any) -> float:
        loss = train(batch)
        if len(case.losses) % EVERY == EVERY - 1:
            drawn_to(slow, model, 0.5)
            put(model, slow)
            with torch.no_grad():
                model.eval()(**rows[-1])
            model.train()
        return loss

    case = Case(model, optimizer, rows[:-1], step)
    return case


HEALTHY = Healthy(
    "looking-ahead",
    "half of what was learned is taken back, again and again",
    looks_like=("MOD012",),
    steps=60,
)
