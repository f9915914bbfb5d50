"""A model that is compiled, and trained through a method of its own.

Only calls of what `torch.compile` returns are compiled. ``net.training_step`` is the
method of the module inside, whose ``self(...)`` runs eagerly: no compile time, no
speed-up, no message.

Fix: call the compiled model itself, or ``model.compile()``, which compiles in place.
Source: pytorch/pytorch#141616.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, base, plain_case


def build(fixed: bool) -> Case:
    """Build a model whose method computes the loss, and train through it."""
    model = base()
    kind = type(model)
    model.__class__ = type("Task", (kind,), {"training_step": _training_step})
    if fixed:
        model.compile(backend="eager")
        net: Any = model
    else:
        net = torch.compile(model, backend="eager")
    return plain_case(net, loss_of=lambda batch: net.training_step(batch))


def _training_step(self: Any, batch: Any) -> torch.Tensor:
    return self(**batch).loss


FAULT = Fault(
    "torch.compile changes nothing: neither the time of the first step nor the others",
    code="MOD020",
    places=("call torch.compile",),
    steps=4,
    evident=1,
    families=("own", "gpt2"),
)
