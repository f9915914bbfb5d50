"""The head alone is clipped, and the whole model is trained.

The norm that is logged is small and well-behaved; all that is below the head is updated
with gradients above the limit.

Fix: clip what the optimizer holds.
Source: huggingface/transformers#614 has a norm that is not that of all.
"""

import torch

from ftlab.faults.builders import Case, Fault, base, updated_by
from ftlab.faults.builders.heads import own_head

LIMIT = 0.1


def build(fixed: bool) -> Case:
    """Train a whole model under SGD, with its head for what is clipped."""
    model = base()
    head = getattr(model, own_head(model))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def update() -> None:
        chosen = model if fixed else head
        torch.nn.utils.clip_grad_norm_(chosen.parameters(), LIMIT)
        optimizer.step()

    return updated_by(update, model, optimizer)


FAULT = Fault(
    "losses spike, and the logged norm is small",
    code="GRD013",
    places=("call clip_grad_norm_",),
    steps=9,
    evident=7,
    families=("llama", "gpt2", "neox", "own"),
)
