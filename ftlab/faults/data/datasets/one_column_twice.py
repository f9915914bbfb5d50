"""A loop that prefers some rows to others is given the same rows for both.

A typing error takes one column for both sides. The loss compares a row with itself: it
is ln 2 in each step, whatever the model says.

Fix: ``batch["bad"]`` for the second half.

Source: huggingface/trl#1236 (the loss of 0.693 when both sides are equal).
"""

import copy

import torch

from ftlab.faults.builders import Case, Fault, adamw, base
from ftlab.faults.builders.preferences import log_chance, pairs, preferring


def build(fixed: bool) -> Case:
    """Prefer rows to others, or to themselves."""
    model = base()
    optimizer = adamw(model)
    kept = copy.deepcopy(model).requires_grad_(requires_grad=False)
    made = pairs()
    if not fixed:
        made = [{"good": batch["good"], "bad": batch["good"]} for batch in made]

    def before(ids: torch.Tensor) -> torch.Tensor:
        return log_chance(kept, ids)

    return Case(model, optimizer, made, preferring(model, optimizer, before))


FAULT = Fault(
    "a preference loss that is the same number in each step",
    code="DAT013",
    places=("sample *",),
    steps=8,
    evident=2,
    also=("GRD001", "NUM011"),
)
