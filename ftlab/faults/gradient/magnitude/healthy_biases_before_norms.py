"""A VGG with batch norms: the biases of its convolutions have no effect.

A batch norm takes the mean of each channel out, and the bias with it: its gradient is
rounding noise. In one Sequential the norms' own biases are its namesakes, and their
gradients are larger by six orders of magnitude.
"""

from typing import Any

import torch
from torch import nn

from ftlab.faults.builders import Case, Healthy, current, plain_case, set_seed
from ftlab.faults.builders.own_model import Answer
from ftlab.faults.builders.zoo import LABELS, pictures

BLOCKS = 4


class Stack(nn.Module):
    """Convolutions, batch norms and ReLUs in turn, and a head."""

    def __init__(self, width: int) -> None:
        super().__init__()
        parts: list[nn.Module] = []
        for block in range(BLOCKS):
            parts += [
                nn.Conv2d(width if block else 3, width, 3, padding=1),
                nn.BatchNorm2d(width),
                nn.ReLU(),
            ]
        self.features = nn.Sequential(*parts)
        self.classifier = nn.Linear(width, LABELS)

    def forward(self, pixel_values: torch.Tensor, labels: torch.Tensor) -> Answer:
        """Tell what is in the pictures."""
        logits = self.classifier(self.features(pixel_values).mean((2, 3)))
        return Answer(nn.functional.cross_entropy(logits, labels), logits)


def build() -> Case:
    """Build the stack and train all of it."""
    set_seed(0)
    model: Any = Stack(current().width // 4)
    return plain_case(model, rows=pictures())


HEALTHY = Healthy(
    "the gradients of the convolutions' biases are rounding noise, the norms' are not",
    looks_like=("GRD001", "NUM002"),
    steps=60,
)
