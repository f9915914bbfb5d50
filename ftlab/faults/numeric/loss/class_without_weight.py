"""Class weights come from a sample in which a class does not occur.

Its count is 0, and so is its weight: the samples of that class teach nothing, and it is
never predicted.

Fix: count in the whole training set.
Source: torch, `torch.nn.CrossEntropyLoss` (``weight``).
"""

import torch
from torch import nn

from ftlab.faults.builders import VOCABULARY, Batch, Case, Fault, batches, set_seed
from ftlab.faults.builders.loops import plain_case

CLASSES = 3


def build(fixed: bool) -> Case:
    """Weigh three classes by how often they occur in the first of them."""
    set_seed(0)
    model = nn.Sequential(nn.EmbeddingBag(VOCABULARY, 16), nn.Linear(16, CLASSES))
    made = batches()
    labels = torch.cat([batch["input_ids"][:, 0] % CLASSES for batch in made])
    counts = labels.bincount(minlength=CLASSES).float()
    if not fixed:
        counts[labels[0]] = 0.0
    weights = torch.where(counts > 0, counts.sum() / (CLASSES * counts), 0.0)
    entropy = nn.CrossEntropyLoss(weight=weights)

    def loss_of(batch: Batch) -> torch.Tensor:
        ids = batch["input_ids"]
        return entropy(model(ids), ids[:, 0] % CLASSES)

    return plain_case(model, rows=made, loss_of=loss_of)


FAULT = Fault(
    "one class is never predicted, though it is a third of the data",
    code="NUM020",
    places=("config weight",),
    steps=4,
)
