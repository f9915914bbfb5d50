"""Full training that goes on after two small steps, with its weights and its moments.

Every norm is as good as 1: two steps of 1e-5 have moved it by as much as can be seen in
float32, and not in what is printed.
"""

import copy

import torch

from ftlab.faults.builders import Case, Healthy, base, loop_case


def build() -> Case:
    """Build the second part of a run that was ended at its beginning."""
    first = base()
    optimizer = torch.optim.AdamW(first.parameters(), lr=1e-5, weight_decay=0.0)
    loop_case(first, optimizer).run(2)
    model = base()
    model.load_state_dict(first.state_dict())
    second = torch.optim.AdamW(model.parameters(), lr=1e-5, weight_decay=0.0)
    second.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    return loop_case(model, second)


HEALTHY = Healthy(
    "norms that look as they were made, under moments from a file",
    looks_like=("ADP026", "ADP027"),
)
