"""A new head is clipped and the body is not: a parameter group of its own says so.

The body learns slowly, with gradients above the limit of the head.
"""

import torch

from ftlab.faults.builders import Case, Healthy, base, updated_by
from ftlab.faults.builders.heads import own_head

LIMIT = 0.1


def build() -> Case:
    """Build a whole model under SGD, its head in a group of its own."""
    model = base()
    head = list(getattr(model, own_head(model)).parameters())
    known = {id(each) for each in head}
    body = [each for each in model.parameters() if id(each) not in known]
    groups = [{"params": body, "lr": 0.01}, {"params": head, "lr": 0.1}]
    optimizer = torch.optim.SGD(groups)

    def update() -> None:
        torch.nn.utils.clip_grad_norm_(head, LIMIT)
        optimizer.step()

    return updated_by(update, model, optimizer)


HEALTHY = Healthy(
    "all but one of the tensors are left out of clipping and exceed its limit",
    looks_like=("GRD013",),
    steps=60,
)
