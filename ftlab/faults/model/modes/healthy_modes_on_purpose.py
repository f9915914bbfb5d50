"""Everything that is in evaluation mode on purpose, in one model that is trained.

A frozen tower with dropout, a batch norm whose statistics stay, the lowest block frozen
with its dropout off, and a teacher.
"""

from typing import Any

import torch
from torch import nn

from ftlab.faults.builders import Case, Healthy, batches, current, plain_case, set_seed
from ftlab.faults.builders.zoo import LABELS, classes, opt, pictures, roberta, vit


class Seer(nn.Module):
    """Classifies rows of words with a picture beside each."""

    def __init__(self) -> None:
        super().__init__()
        width = current().width
        self.tower = vit(hidden_dropout_prob=0.2).vit
        self.reader = roberta(hidden_dropout_prob=0.1).roberta
        self.teacher = opt()
        self.norm = nn.BatchNorm1d(2 * width)
        self.head = nn.Linear(2 * width, LABELS)
        for part in (self.tower, self.teacher, self.reader.encoder.layer[0]):
            part.requires_grad_(False)

    def train(self, mode: bool = True) -> "Seer":
        """Leave what is frozen in evaluation mode."""
        super().train(mode)
        for part in (self.tower, self.teacher, self.norm, self.reader.encoder.layer[0]):
            part.eval()
        return self

    def forward(self, pixel_values: Any, input_ids: Any) -> torch.Tensor:
        """Return logits of the classes."""
        seen = self.tower(pixel_values).last_hidden_state[:, 0]
        read = self.reader(input_ids=input_ids).last_hidden_state[:, 0]
        with torch.no_grad():
            self.teacher(input_ids=input_ids)
        return self.head(self.norm(torch.cat([seen, read], -1)))


def build() -> Case:
    """Build the model and train what is not frozen."""
    set_seed(0)
    model = Seer().train()
    pairs = list(zip(pictures(), classes(batches()), strict=True))

    def loss_of(pair: Any) -> torch.Tensor:
        logits = model(pair[0]["pixel_values"], pair[1]["input_ids"])
        return nn.functional.cross_entropy(logits, pair[1]["labels"])

    return plain_case(model, rows=pairs, loss_of=loss_of)


HEALTHY = Healthy(
    "a tower, a batch norm, a block and a teacher are in evaluation mode",
    looks_like=("MOD006", "GRD003", "OPT002"),
)
