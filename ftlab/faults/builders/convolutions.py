"""A small classifier of pictures with batch norms, as vision models have them."""

from typing import Any

import torch
from torch import nn

from ftlab.faults.builders.own_model import Answer
from ftlab.faults.builders.tiny import set_seed
from ftlab.faults.builders.zoo import LABELS
from ftlab.faults.variation import current


class Convolutions(nn.Module):
    """Two convolutions, each with a batch norm, and a head."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, width, 3, padding=1)
        self.calm = nn.BatchNorm2d(width)
        self.second = nn.Conv2d(width, width, 3, padding=1)
        self.calmer = nn.BatchNorm2d(width)
        self.verdict = nn.Linear(width, LABELS)

    def forward(
        self, pixel_values: torch.Tensor, labels: torch.Tensor | None = None
    ) -> Answer:
        """Tell what is in the pictures."""
        hidden = self.calm(self.first(pixel_values)).relu()
        hidden = self.calmer(self.second(hidden)).relu()
        logits = self.verdict(hidden.mean((2, 3)))
        if labels is None:
            return Answer(None, logits)
        return Answer(nn.functional.cross_entropy(logits, labels), logits)


def convolutions() -> Any:
    """Build the classifier in the variation's width."""
    set_seed(0)
    return Convolutions(current().width // 2)


def residual() -> Any:
    """Build a ResNet of two stages, as transformers has it."""
    from transformers import ResNetConfig, ResNetForImageClassification

    set_seed(0)
    width = current().width // 4
    config = ResNetConfig(
        embedding_size=width,
        hidden_sizes=[width, 2 * width],
        depths=[1, 1],
        layer_type="basic",
        num_labels=LABELS,
    )
    return ResNetForImageClassification(config)
