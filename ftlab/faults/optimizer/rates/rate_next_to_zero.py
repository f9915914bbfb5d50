"""A factor of a group is typed as an exponent: 1e-9 in place of 10.

The norms are in the optimizer and have gradients, and their rate is a billionth of the
others': they stay as they are, and nothing is raised.

Fix: a factor of 10, where 1e-9 stands.
Source: seed; rates per group that are computed from a factor.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, base, loop_case

RATE = 5e-4


def build(fixed: bool) -> Case:
    """Build full fine-tuning with a group for the norms and biases."""
    model = base()
    factor = 10 if fixed else 10**-9
    last = [p for p in model.parameters() if p.ndim < 2]
    rest = [p for p in model.parameters() if p.ndim >= 2]
    groups: list[dict[str, Any]] = [
        {"params": rest},
        {"params": last, "lr": RATE * factor},
    ]
    optimizer = torch.optim.AdamW(groups, lr=RATE)
    return loop_case(model, optimizer)


FAULT = Fault(
    "one group stays as it is, though it has gradients and a rate",
    code="OPT005",
    places=("optimizer param_groups*",),
    evident=1,
    families=("llama", "gpt2", "neox", "own"),
)
