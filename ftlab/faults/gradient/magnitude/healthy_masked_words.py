"""A masked language model: other words are hidden in every batch.

Few labels count, and the loss jumps from step to step.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, plain_case, roberta, seeded

MASK = 2
SHARE = 0.15


def build() -> Case:
    """Build a RoBERTa, fully fine-tuned, that hides 15 % of the words."""
    model = roberta(kind="MaskedLM")
    dice = seeded()

    def loss_of(batch: Any) -> torch.Tensor:
        ids = batch["input_ids"]
        hidden = torch.rand(ids.shape, generator=dice) < SHARE
        hidden[0, 1] = True
        labels = torch.where(hidden, ids, -100)
        ids = torch.where(hidden, MASK, ids)
        mask = batch["attention_mask"]
        return model(input_ids=ids, attention_mask=mask, labels=labels).loss

    return plain_case(model, lr=1e-3, weight_decay=0.01, loss_of=loss_of)


HEALTHY = Healthy(
    "85 % of the labels are ignored, other ones in each step",
    looks_like=("GRD002", "GRD003"),
)
