"""Pure fp16 with an eps that fp16 can hold.

Most second moments are 0, as their floor is 6e-8: Adam is nearly SGD then, and learns.
"""

import torch

from ftlab.faults.builders import Case, Healthy, base, loop_case


def build() -> Case:
    """Train all weights in fp16."""
    model = base().half()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, eps=1e-4)
    return loop_case(model, optimizer, loss_of=lambda batch: model(**batch).loss)


HEALTHY = Healthy(
    "trained in fp16 with Adam, second moments of 0",
    looks_like=("NUM002", "NUM007", "NUM008"),
    steps=200,
)
