"""The place of a picture is marked by an id that no embedding has a row for.

The model looks up another row there, and puts the picture's features in its place.
"""

from typing import Any

import torch
from torch import nn

from ftlab.faults.builders import Case, Healthy, current, plain_case
from ftlab.faults.builders.tiny import VOCABULARY, base, batches, set_seed

PLACE = VOCABULARY + 72
"""The id of a picture's place."""


class Placed(nn.Module):
    """A language model with a vector of its own in place of some tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.language = base()
        self.config = self.language.config
        self.picture = nn.Parameter(torch.randn(current().width) / 8)

    def get_input_embeddings(self) -> Any:
        """Return the language model's."""
        return self.language.get_input_embeddings()

    def forward(self, input_ids: torch.Tensor, labels: torch.Tensor) -> Any:
        """Return the loss of predicting the words around the picture."""
        here = input_ids == PLACE
        words = self.get_input_embeddings()(input_ids.masked_fill(here, 0))
        seen = torch.where(here.unsqueeze(-1), self.picture, words)
        return self.language(inputs_embeds=seen, labels=labels)


def build() -> Case:
    """Put the place of a picture in front of each row."""
    set_seed(0)
    model = Placed()
    rows = []
    for row in batches():
        ids, labels = row["input_ids"].clone(), row["labels"].clone()
        ids[:, 0], labels[:, 0] = PLACE, -100
        rows.append({"input_ids": ids, "labels": labels})
    return plain_case(model, rows=rows, loss_of=lambda batch: model(**batch).loss)


HEALTHY = Healthy(
    "ids stand for pictures, and have no row in the embedding",
    looks_like=("DAT002",),
    steps=24,
)
