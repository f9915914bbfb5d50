"""A checkpoint of the plain model is loaded into the compiled one, with strict=False.

Every key of ``torch.compile(model)`` begins with ``_orig_mod.``: none of the file's is
found, and nothing is loaded. The optimizer's state goes by order, and is loaded.

Fix: load into the model before it is compiled, with ``strict=True``.
Source: pytorch/pytorch#101107, DLR-RM/stable-baselines3#1439.
"""

import copy
from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, base, loop_case


def build(fixed: bool) -> Case:
    """Build the second half of a run."""
    first = base()
    optimizer = torch.optim.AdamW(first.parameters(), lr=5e-3)
    loop_case(first, optimizer).run(12)
    model = base()
    compiled: Any = torch.compile(model, backend="eager")
    if fixed:
        model.load_state_dict(first.state_dict())
    else:
        compiled.load_state_dict(first.state_dict(), strict=False)
    second = torch.optim.AdamW(compiled.parameters(), lr=5e-3)
    second.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    return loop_case(compiled, second)


FAULT = Fault(
    "the resumed run begins at the loss of an untrained model, and nothing is said",
    code="ADP026",
    places=("call load_state_dict",),
    steps=4,
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
