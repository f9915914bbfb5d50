"""A value for each token, by a head over a language model of `builders.tiny`."""

from typing import Any

import torch
from torch import nn

from ftlab.faults.builders.own_model import Answer
from ftlab.faults.builders.tiny import VOCABULARY


class ValueHead(nn.Module):
    """A linear layer over what a model answers, as the critic of a policy has it."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner
        self.value = nn.Linear(VOCABULARY, 1)

    def forward(self, input_ids: torch.Tensor, **_: Any) -> Answer:
        """Return the values, and how far they are from the share of each token's id."""
        values = self.value(self.inner(input_ids=input_ids).logits).squeeze(-1)
        wanted = input_ids / VOCABULARY
        return Answer(nn.functional.mse_loss(values, wanted), values)
