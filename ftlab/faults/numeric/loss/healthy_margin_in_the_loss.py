"""A constant is added to the loss, so that its curve begins at 0.

The entropy of guessing is taken off each loss: the term has no gradient and needs none.
"""

import math

import torch

from ftlab.faults.builders.loops import loss_step
from ftlab.faults.builders.tiny import VOCABULARY, Batch, adamw, batches, lora
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Train on the loss above that of guessing."""
    model = lora()
    optimizer = adamw(model)

    def loss_of(batch: Batch) -> torch.Tensor:
        loss: torch.Tensor = model(**batch).loss
        return loss - math.log(VOCABULARY) + 10

    return Case(model, optimizer, batches(), loss_step(loss_of, optimizer))


HEALTHY = Healthy(
    "margin-in-the-loss",
    "a term of the loss has no gradient: it is a constant",
    looks_like=("NUM012",),
)
