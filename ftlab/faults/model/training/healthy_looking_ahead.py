"""Lookahead by hand: every 5 steps the weights are drawn back to slow ones, and stay.

Each evaluation comes right after that, so that it never sees other weights.
"""

import torch

from ftlab.faults.builders import Case, Healthy, adamw, base, batches, every, loop_with
from ftlab.faults.builders.copies import copied, drawn_to, put

EVERY = 5


def build() -> Case:
    """Train all weights."""
    model = base()
    optimizer = adamw(model)
    rows = batches(9)
    slow = copied(model)

    def look_ahead() -> None:
        drawn_to(slow, model, 0.5)
        put(model, slow)
        with torch.no_grad():
            model.eval()(**rows[-1])
        model.train()

    return loop_with(model, optimizer, rows[:-1], after=every(EVERY, look_ahead))


HEALTHY = Healthy(
    "half of what was learned is taken back, again and again",
    looks_like=("MOD012",),
    steps=60,
)
