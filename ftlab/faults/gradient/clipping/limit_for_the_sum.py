"""``clip_grad_norm_(parameters, 2.0, 1.0)``: the limit and the type are swapped.

The sum of all absolute values is limited to two, and it is a hundred times the L2 norm
that a limit of one was meant for.

Fix: ``clip_grad_norm_(parameters, max_norm=1.0, norm_type=2.0)``.
Source: torch.nn.utils.clip_grad_norm_, whose third argument is the type.
"""

import torch

from ftlab.faults.builders import Case, Fault, base, updated_by


def build(fixed: bool) -> Case:
    """Train a whole model under SGD."""
    model = base()
    weights = list(model.parameters())
    optimizer = torch.optim.SGD(weights, lr=0.3)
    limit, kind = (1.0, 2.0) if fixed else (2.0, 1.0)

    def update() -> None:
        torch.nn.utils.clip_grad_norm_(weights, limit, kind)
        optimizer.step()

    return updated_by(update, model, optimizer)


FAULT = Fault(
    "the norm is near the limit, and learning is slow",
    code="GRD015",
    places=("call clip_grad_norm_",),
    steps=9,
    evident=7,
    families=("llama", "gpt2", "neox", "own"),
)
