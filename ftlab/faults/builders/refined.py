"""A model with a small part behind its logits, which can be traced by itself."""

import warnings
from typing import Any

import torch
from torch import nn

from ftlab.faults.builders.tiny import VOCABULARY, base
from ftlab.faults.variation import current


class Refined(nn.Module):
    """A language model whose logits are refined by a part with dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.base = base()
        torch.manual_seed(11 + current().seed)
        self.refiner: Any = nn.Sequential(
            nn.Linear(VOCABULARY, current().width),
            nn.GELU(),
            nn.Dropout(0.3),
            nn.Linear(current().width, VOCABULARY),
            nn.Dropout(0.1),
        )

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        """Return logits."""
        logits: torch.Tensor = self.base(input_ids=input_ids).logits
        return logits + self.refiner(logits)


def traced(module: Any, training: bool) -> Any:
    """Trace a part in a mode."""
    example = torch.zeros(2, 4, VOCABULARY)
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        return torch.jit.trace(module.train(training), example, check_trace=False)
