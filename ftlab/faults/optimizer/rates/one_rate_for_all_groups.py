"""A rate by hand for each step, written into all groups.

The norms were made with a hundred times the rate of the rest. A loop over the groups
gives all of them that one.

Fix: keep what each group was made with, and multiply it.
Source: JUGGHM/PENet_ICRA2021#29, ``adjust_learning_rate`` with one rate for all groups.
"""

import math

import torch

from ftlab.faults.builders import Case, Fault, base, batches, loop_with

LOW, HIGH, STEPS = 1e-4, 1e-2, 40


def build(fixed: bool) -> Case:
    """Build full fine-tuning whose norms learn faster than its matrices."""
    model = base()
    flat = [p for p in model.parameters() if p.ndim < 2]
    rest = [p for p in model.parameters() if p.ndim >= 2]
    groups = [{"params": rest, "lr": LOW}, {"params": flat, "lr": HIGH}]
    optimizer = torch.optim.AdamW(groups)
    made = [group["lr"] for group in optimizer.param_groups]

    def before(done: int) -> None:
        factor = 0.5 * (1 + math.cos(math.pi * done / STEPS))
        for group, rate in zip(optimizer.param_groups, made, strict=True):
            group["lr"] = (rate if fixed else HIGH) * factor

    return loop_with(model, optimizer, batches(), before=before)


FAULT = Fault(
    "the pretrained part learns at the rate of the new one",
    code="OPT019",
    places=("optimizer lr",),
    evident=2,
    families=("llama", "gpt2", "neox", "own"),
)
