"""A hook that was meant for one look keeps the output of a layer at each forward.

The cell that puts it on was run twice, so there are two of them.

Fix: `handle.remove()` after the look, and keep `output.detach().cpu()` or a statistic.
Source: pnnl/neuromancer#292; sktime/pytorch-forecasting#1924.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, lora, plain_case


def build(fixed: bool) -> Case:
    """Look at the embeddings' output; the fixed hook keeps its norm."""
    model = lora()
    seen: list[Any] = []

    def look(_: torch.nn.Module, __: Any, output: torch.Tensor) -> None:
        seen.append(float(output.detach().norm()) if fixed else output.repeat(8, 1, 1))

    for _ in range(2):
        model.get_input_embeddings().register_forward_hook(look)
    return plain_case(model)


FAULT = Fault(
    "memory grows a little with each step, though losses are kept as numbers",
    code="MEM001",
    places=("object *_forward_hooks*seen", "object *seen"),
    steps=20,
    evident=18,
)
