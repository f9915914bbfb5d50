"""The head's group has its rate under ``learning_rate``, which torch does not read.

The group takes the default, the small rate of the body, and the head hardly moves. The
optimizer keeps the unknown key and says nothing.

Fix: name it ``lr``.
Source: seed; torch.optim, per-parameter options (keys are kept as they come).
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, base, loop_case
from ftlab.faults.builders.heads import head


def build(fixed: bool) -> Case:
    """Build full fine-tuning in which the head is to learn faster."""
    model = base()
    faster = list(model.get_submodule(head(model)).parameters())
    known = {id(parameter) for parameter in faster}
    body = [p for p in model.parameters() if id(p) not in known]
    key = "lr" if fixed else "learning_rate"
    groups: list[dict[str, Any]] = [{"params": body}, {"params": faster, key: 1e-2}]
    optimizer = torch.optim.AdamW(groups, lr=1e-5)
    return loop_case(model, optimizer)


FAULT = Fault(
    "a head that is to learn at 1e-2 hardly moves",
    code="OPT026",
    places=("optimizer param_groups*",),
    evident=1,
    families=("llama", "gpt2", "neox", "own"),
)
