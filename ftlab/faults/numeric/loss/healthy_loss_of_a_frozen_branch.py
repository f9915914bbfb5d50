"""Two branches have a loss each; one of them is frozen, and its loss is added still.

A constant is added to the sum as well, as is done where losses are compared.
"""

import torch
from torch import nn
from torch.nn import functional

from ftlab.faults.builders import VOCABULARY, Batch, Case, Healthy, plain_case, set_seed


def branch() -> nn.Sequential:
    """Predict the next token from the one before."""
    return nn.Sequential(nn.Embedding(VOCABULARY, 32), nn.Linear(32, VOCABULARY))


def build() -> Case:
    """Train the second branch while the first one rests."""
    set_seed(0)
    model = nn.ModuleDict({"first": branch().requires_grad_(False), "second": branch()})

    def loss_of(batch: Batch) -> torch.Tensor:
        read, labels = batch["input_ids"][:, :-1], batch["labels"][:, 1:].flatten()
        first, second = (
            functional.cross_entropy(part(read).flatten(0, 1), labels)
            for part in model.values()
        )
        return first + second + 0.5

    return plain_case(model, loss_of=loss_of)


HEALTHY = Healthy(
    "a term of the loss changes and has no gradient, as its branch is frozen",
    looks_like=("NUM012",),
)
