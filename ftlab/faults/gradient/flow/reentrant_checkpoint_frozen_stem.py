"""A hand-written reentrant checkpoint behind a frozen stem.

The first block gets an input without a gradient and returns a tensor without a graph;
so does the next one, up to the first module that is not checkpointed.

Fix: ``checkpoint(..., use_reentrant=False)``.
Source: mlfoundations/open_clip#573, pytorch/pytorch#112397.
"""

import warnings
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from ftlab.faults.builders import VOCABULARY, Case, Fault, adamw, batches, token_loss


class Net(nn.Module):
    """A frozen embedding, checkpointed blocks and a head."""

    def __init__(self, reentrant: bool) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.reentrant = reentrant
        self.stem = nn.Embedding(VOCABULARY, 32)
        self.stem.weight.requires_grad_(False)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Linear(32, 32), nn.GELU()) for _ in range(3)
        )
        self.head = nn.Linear(32, VOCABULARY)

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        """Return logits."""
        hidden = self.stem(input_ids)
        for block in self.blocks:
            hidden = checkpoint(block, hidden, use_reentrant=self.reentrant)
        return self.head(hidden)


def build(fixed: bool) -> Case:
    """Build the net and its loop."""
    model = Net(reentrant=not fixed)
    optimizer = adamw(model)

    def step(batch: Any) -> float:
        optimizer.zero_grad()
        with warnings.catch_warnings(action="ignore"):
            loss = token_loss(model(batch["input_ids"]), batch)
            loss.backward()
        optimizer.step()
        return float(loss.detach())

    return Case(model, optimizer, batches(), step)


FAULT = Fault(
    "the first blocks never train, and nothing says so",
    code="GRD003",
    places=("module blocks.0",),
    steps=8,
)
