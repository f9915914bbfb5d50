"""A text is squeezed into one vector and read back: an autoencoder.

The labels are the tokens that go in, position by position, and are meant to be.
"""

import torch
from torch import nn
from torch.nn import functional

from ftlab.faults.builders import VOCABULARY, Batch, Case, Healthy, batches, set_seed
from ftlab.faults.builders.loops import plain_case

WIDTH = 32


class Squeezer(nn.Module):
    """Encode a text in one vector, and decode each position from it."""

    def __init__(self, length: int) -> None:
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, WIDTH)
        self.squeeze = nn.Linear(length * WIDTH, WIDTH)
        self.places = nn.Linear(WIDTH, length * WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        """Give the logits of each position."""
        vector = self.squeeze(self.words(input_ids).flatten(1)).tanh()
        return self.head(self.places(vector).view(*input_ids.shape, -1))


def build() -> Case:
    """Build the autoencoder under AdamW."""
    made = batches()
    set_seed(0)
    model = Squeezer(made[0]["input_ids"].shape[1])

    def loss_of(batch: Batch) -> torch.Tensor:
        logits = model(batch["input_ids"])
        return functional.cross_entropy(logits.flatten(0, 1), batch["labels"].flatten())

    return plain_case(model, rows=made, loss_of=loss_of)


HEALTHY = Healthy(
    "each position is asked for the token that goes in there",
    looks_like=("NUM014",),
)
