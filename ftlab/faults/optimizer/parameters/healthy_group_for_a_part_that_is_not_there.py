"""A recipe for several models: it makes a group for a tower that this one has not.

The optimizer's second group is empty, has a rate of its own, and is given to it in case
the tower is thawed later.
"""

import torch

from ftlab.faults.builders import Case, Healthy, base, loop_case


def build() -> Case:
    """Build full training with a group for a vision tower."""
    model = base()
    named = list(model.named_parameters())
    tower = [p for n, p in named if "vision_tower" in n]
    rest = [p for n, p in named if "vision_tower" not in n]
    groups = [{"params": rest, "lr": 1e-3}, {"params": tower, "lr": 2e-6}]
    optimizer = torch.optim.AdamW(groups)
    return loop_case(model, optimizer)


HEALTHY = Healthy(
    "a parameter group is empty",
    looks_like=("OPT009", "OPT005"),
)
