"""Labels drawn at random, new ones for each batch: there is nothing to learn.

The loss stays at the logarithm of the vocabulary, whatever the loop does.
"""

from typing import Any

import torch

from ftlab.faults.builders import VOCABULARY, Case, Healthy, lora, plain_case, seeded


def build() -> Case:
    """Build LoRA on noise."""
    model = lora()
    dice = seeded()

    def loss_of(batch: Any) -> torch.Tensor:
        shape = batch["input_ids"].shape
        labels = torch.randint(VOCABULARY, shape, generator=dice)
        return model(input_ids=batch["input_ids"], labels=labels).loss

    return plain_case(model, lr=1e-3, loss_of=loss_of)


HEALTHY = Healthy(
    "the loss never falls",
    looks_like=("GRD001", "ADP001", "GRD002", "NUM026", "DAT025"),
)
