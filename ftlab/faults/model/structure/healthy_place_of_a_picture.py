"""A new token marks where the picture goes: its row is never read.

Its row is frozen and as it was drawn. Features of the picture take its place.
"""

from typing import Any

import torch
from torch import nn

from ftlab.faults.builders import Case, Healthy, current, pictures, plain_case, vit
from ftlab.faults.builders.new_words import learnt_base
from ftlab.faults.builders.tiny import VOCABULARY, batches, lora


class Shown(nn.Module):
    """A language model with one token whose vector is a picture's."""

    def __init__(self) -> None:
        super().__init__()
        language = learnt_base()
        language.resize_token_embeddings(VOCABULARY + 1)
        self.language = lora(language)
        self.tower = vit().vit.requires_grad_(False)
        self.projector = nn.Linear(current().width, current().width)

    def forward(
        self, input_ids: torch.Tensor, pixel_values: torch.Tensor, labels: torch.Tensor
    ) -> Any:
        """Return the loss of predicting the words around the picture."""
        words = self.language.get_input_embeddings()(input_ids)
        seen = self.projector(self.tower(pixel_values).last_hidden_state[:, :1])
        here = (input_ids == VOCABULARY).unsqueeze(-1)
        return self.language(
            inputs_embeds=torch.where(here, seen, words), labels=labels
        )


def build() -> Case:
    """Build the model and train its adapter and its projector."""
    model = Shown()
    pairs = []
    for words, seen in zip(batches(), pictures(), strict=True):
        words["input_ids"][:, 0] = VOCABULARY
        words["labels"][:, 0] = -100
        del words["attention_mask"]
        pairs.append(words | {"pixel_values": seen["pixel_values"]})
    return plain_case(model, rows=pairs, loss_of=lambda batch: model(**batch).loss)


HEALTHY = Healthy(
    "every row of the batch holds a new token whose row is frozen",
    looks_like=("MOD009", "GRD003"),
    steps=40,
)
