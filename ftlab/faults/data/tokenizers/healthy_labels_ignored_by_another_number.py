"""A loss of one's own leaves out the labels that are -1."""

from typing import Any

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from ftlab.faults.builders import Case, Healthy, base, batches, plain_case


class Scored(nn.Module):
    """A language model that computes its loss itself."""

    def __init__(self) -> None:
        super().__init__()
        self.language = base()
        self.config = self.language.config

    def get_input_embeddings(self) -> Any:
        """Return the language model's."""
        return self.language.get_input_embeddings()

    def get_output_embeddings(self) -> Any:
        """Return the language model's."""
        return self.language.get_output_embeddings()

    def forward(self, input_ids: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the loss of the labels that are not -1."""
        logits = self.language(input_ids=input_ids).logits[:, :-1]
        wanted = labels[:, 1:].flatten()
        return cross_entropy(logits.flatten(0, 1), wanted, ignore_index=-1)


def build() -> Case:
    """Leave the first half of each row out of the loss."""
    model = Scored()
    rows = []
    for row in batches():
        labels = row["labels"].clone()
        labels[:, : labels.shape[1] // 2] = -1
        rows.append({"input_ids": row["input_ids"], "labels": labels})
    return plain_case(model, rows=rows, loss_of=lambda batch: model(**batch))


HEALTHY = Healthy(
    "half of the labels are -1",
    looks_like=("DAT002", "DAT025"),
    steps=24,
)
