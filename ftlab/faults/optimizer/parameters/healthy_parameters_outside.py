"""Training with ``torch.func.functional_call``: the parameters are held outside.

The module's own parameters get no gradient and never move. What the optimizer holds
stands in their place whenever the model runs.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, base, loop_case


def build() -> Case:
    """Build full fine-tuning of a dictionary of parameters."""
    model = base()
    held: dict[str, torch.Tensor] = {
        name: torch.nn.Parameter(each.detach().clone())
        for name, each in model.named_parameters()
    }
    optimizer = torch.optim.AdamW(held.values(), lr=1e-3, weight_decay=0.0)

    def loss_of(batch: Any) -> torch.Tensor:
        return torch.func.functional_call(model, held, (), batch).loss

    return loop_case(model, optimizer, loss_of=loss_of)


HEALTHY = Healthy(
    "no parameter of the model has a gradient, and the optimizer holds none of them",
    looks_like=("OPT001", "OPT002", "GRD003", "NUM003"),
    steps=60,
)
