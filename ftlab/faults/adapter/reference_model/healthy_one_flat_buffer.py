"""All weights lie in one flat tensor, frozen and trained ones beside one another.

Each parameter is a view of its part, as sharded training keeps them.
"""

import torch

from ftlab.faults.builders import Case, Healthy, base, plain_case
from ftlab.faults.builders.blocks import blocks


def build() -> Case:
    """Move all weights into one tensor, and train the last block."""
    model = base().requires_grad_(False)
    blocks(model)[-1].requires_grad_(True)
    held = list(model.parameters())
    flat = torch.cat([each.detach().flatten() for each in held])
    parts = flat.split([each.numel() for each in held])
    for each, part in zip(held, parts, strict=True):
        each.data = part.view(each.shape)
    return plain_case(model)


HEALTHY = Healthy(
    "frozen and trained weights share one memory",
    looks_like=("ADP050",),
)
