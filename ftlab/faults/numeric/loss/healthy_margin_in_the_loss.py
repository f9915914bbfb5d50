"""A constant is added to the loss, so that its curve begins at 0.

The entropy of guessing is taken off each loss: the term has no gradient and needs none.
"""

import math

import torch

from ftlab.faults.builders import VOCABULARY, Batch, Case, Healthy, lora, plain_case


def build() -> Case:
    """Train on the loss above that of guessing."""
    model = lora()

    def loss_of(batch: Batch) -> torch.Tensor:
        loss: torch.Tensor = model(**batch).loss
        return loss - math.log(VOCABULARY) + 10

    return plain_case(model, loss_of=loss_of)


HEALTHY = Healthy(
    "a term of the loss has no gradient: it is a constant",
    looks_like=("NUM012",),
)
