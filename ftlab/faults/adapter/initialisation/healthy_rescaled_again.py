"""IA3 that was trained before is trained on: its vectors are not 1 at the start."""

import torch

from ftlab.faults.builders import Case, Healthy, plain_case, set_seed, trainable
from ftlab.faults.builders.methods import rescaled


def build() -> Case:
    """Build IA3 with vectors around 1."""
    model = rescaled()
    set_seed(3)
    with torch.no_grad():
        for vector in trainable(model):
            vector.add_(0.3 * torch.randn_like(vector))
    return plain_case(model, lr=1e-2)


HEALTHY = Healthy(
    "the vectors of IA3 differ from 1 before the first step",
    looks_like=("ADP032", "ADP037"),
    steps=60,
)
