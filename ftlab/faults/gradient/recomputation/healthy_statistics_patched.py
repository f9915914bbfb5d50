"""Checkpointed batch norms that gather statistics in one of their two passes only.

The first pass runs without tracking, as patched wrappers do it, with the reentrant
variant (the other one knows saved tensors by number, and tracking adds some). Another
batch norm sees two halves of a batch in one step, each once.
"""

from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from ftlab.faults.builders import Case, Healthy, batches, current, plain_case, set_seed
from ftlab.faults.builders.zoo import LABELS, classes


class Patched(nn.Module):
    """A classifier of bags of words, its hidden layer checkpointed."""

    def __init__(self) -> None:
        super().__init__()
        width = current().width
        self.words = nn.EmbeddingBag(128, width)
        lower = nn.Linear(width, width, bias=False)  # the norm would cancel a bias
        self.body = nn.Sequential(lower, nn.BatchNorm1d(width))
        self.twice = nn.BatchNorm1d(width)
        self.head = nn.Linear(width, LABELS)

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        """Return logits."""
        first = [True]

        def run(bag: torch.Tensor) -> torch.Tensor:
            norm: Any = self.body[1]
            norm.track_running_stats = not first[0]
            first[0] = False
            made: torch.Tensor = self.body(bag)
            norm.track_running_stats = True
            return made

        hidden: Any = checkpoint(run, self.words(input_ids), use_reentrant=True)
        halves = [self.twice(half.relu()) for half in hidden.chunk(2)]
        return self.head(torch.cat(halves).relu())


def build() -> Case:
    """Build the classifier."""
    set_seed(0)
    model = Patched()

    def loss_of(batch: Any) -> torch.Tensor:
        logits = model(batch["input_ids"])
        return nn.functional.cross_entropy(logits, batch["labels"])

    rows = classes(batches(size=8))
    return plain_case(model, rows=rows, loss_of=loss_of)


HEALTHY = Healthy(
    "batch norms run within backward, and twice in a step",
    looks_like=("GRD004", "MOD006"),
    steps=60,
)
