"""Three parts that answer without gradients and with dropout on, as they should.

A mean teacher, which follows the student and drops as it does (Tarvainen and Valpola
2017); a frozen tower whose features are learned from; and a frozen reader of the same
words, whose features go to the head beside those of the student.
"""

from typing import Any

import torch
from torch import nn

from ftlab.faults.builders import Case, Healthy, current, loop_with, loss_step
from ftlab.faults.builders.tiny import adamw, batches, set_seed
from ftlab.faults.builders.zoo import LABELS, classes, pictures, roberta, vit

KEPT = 0.99
"""Share of the mean teacher that stays."""


class Classifier(nn.Module):
    """Classifies rows of words with a picture beside each."""

    def __init__(self) -> None:
        super().__init__()
        width = current().width
        self.tower = vit(hidden_dropout_prob=0.1).vit
        self.reader = roberta(hidden_dropout_prob=0.1).roberta
        self.student = roberta(hidden_dropout_prob=0.1).roberta
        self.head = nn.Linear(3 * width, LABELS)
        self.tower.requires_grad_(False)
        self.reader.requires_grad_(False)

    def forward(self, pixel_values: Any, input_ids: Any) -> torch.Tensor:
        """Return logits of the classes."""
        with torch.no_grad():
            seen = self.tower(pixel_values).last_hidden_state[:, 0]
            known = self.reader(input_ids=input_ids).last_hidden_state[:, 0]
        read = self.student(input_ids=input_ids).last_hidden_state[:, 0]
        return self.head(torch.cat([seen, known, read], -1))


class Both(nn.Module):
    """A student and its mean."""

    def __init__(self) -> None:
        super().__init__()
        self.mean = Classifier().requires_grad_(False)
        self.student = Classifier()

    def forward(self, pair: Any) -> torch.Tensor:
        """Return the loss on labels, and how far the student is from its mean."""
        given = pair[0]["pixel_values"], pair[1]["input_ids"]
        with torch.no_grad():
            wanted = self.mean(*given).softmax(-1)
        logits = self.student(*given)
        apart = nn.functional.cross_entropy(logits, wanted)
        return apart + nn.functional.cross_entropy(logits, pair[1]["labels"])

    @torch.no_grad()
    def follow(self) -> None:
        """Move the mean towards the student."""
        of = zip(self.mean.parameters(), self.student.parameters(), strict=True)
        for mean, weight in of:
            mean.lerp_(weight, 1 - KEPT)


def build() -> Case:
    """Build both and train the student."""
    set_seed(0)
    model = Both().train()
    optimizer = adamw(model)
    pairs = list(zip(pictures(), classes(batches()), strict=True))
    train = loss_step(model, optimizer)

    def after(_: int) -> None:
        model.follow()

    return loop_with(model, optimizer, pairs, train=train, after=after)


HEALTHY = Healthy(
    "frozen parts answer with dropout on, and without gradients",
    looks_like=("MOD016", "MOD006", "GRD003"),
    steps=40,
)
