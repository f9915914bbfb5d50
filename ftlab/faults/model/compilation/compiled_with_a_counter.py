"""A compiled model that counts its calls in a Python number.

Dynamo makes a graph for each value of an integer on a module: one in every step, until
the recompile limit. From then on the frame runs eagerly; one line in the log says so.

Fix: keep the counter in a tensor (``register_buffer``), or outside of forward.
Source: pytorch/pytorch#128319.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, adamw, base, loop_case
from ftlab.faults.builders.own_model import Answer


class Annealed(torch.nn.Module):
    """A model whose loss is scaled by how often it was called."""

    def __init__(self, model: Any, calls: Any) -> None:
        super().__init__()
        self.model = model
        self.calls: Any
        if isinstance(calls, torch.Tensor):
            self.register_buffer("calls", calls)
        else:
            self.calls = calls

    def forward(self, input_ids: torch.Tensor, labels: torch.Tensor, **_: Any) -> Any:
        """Predict, and lower the weight of the loss a little in each call."""
        self.calls += 1
        answer = self.model(input_ids=input_ids, labels=labels)
        return Answer(answer.loss * (1.0 - 0.001 * self.calls), answer.logits)


def build(fixed: bool) -> Case:
    """Build a compiled model with a counter of either kind."""
    model = Annealed(base(), torch.zeros(()) if fixed else 0)
    compiled: Any = torch.compile(model, backend="eager")
    optimizer = adamw(model)
    return loop_case(compiled, optimizer)


FAULT = Fault(
    "the first steps take as long as compiling does, the others as long as without it",
    code="MOD020",
    places=("module *", "call torch.compile"),
    steps=12,
    evident=8,
    families=("own",),
)
