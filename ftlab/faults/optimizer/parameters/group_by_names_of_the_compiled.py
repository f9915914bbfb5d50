"""The head's group is chosen from the names of the compiled model, and stays empty.

Every name of ``torch.compile(model)`` begins with ``_orig_mod.``. The head lands in the
group of the rest, and learns at its rate.

Fix: build the groups from the bare model: its parameters are the same.
Source: pytorch/pytorch#101107 (names of compiled modules).
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, base, loop_case


def build(fixed: bool) -> Case:
    """Build full training with a rate of its own for the head."""
    model = base()
    compiled: Any = torch.compile(model, backend="eager")
    wanted = list(dict(model.named_parameters()))[-1].partition(".")[0]
    named = list((model if fixed else compiled).named_parameters())
    head = [p for n, p in named if n.startswith(wanted)]
    rest = [p for n, p in named if not n.startswith(wanted)]
    groups = [{"params": rest, "lr": 5e-4}, {"params": head, "lr": 2e-3}]
    optimizer = torch.optim.AdamW(groups)
    return loop_case(compiled, optimizer)


FAULT = Fault(
    "since the model is compiled, its new head learns as slowly as all the rest",
    code="OPT009",
    places=("optimizer param_groups?1?",),
    evident=0,
    families=("llama", "neox", "own"),
)
