"""Sums of the losses of three micro-batches, divided by all labels of the update.

Written three ways in turn: by the sum that torch makes, by a masked sum of one's own
and by a mean that is weighed by its labels. The last update of an epoch is shorter.
"""

from typing import Any

import torch
from torch.nn.functional import cross_entropy

from ftlab.faults.builders import Case, Healthy, backwards, batches, lora, trainable


def build() -> Case:
    """Build LoRA under SGD on micro-batches of unlike lengths."""
    model = lora()
    optimizer = torch.optim.SGD(trainable(model), lr=1.0)

    def loss_of(batch: Any, labels: int, way: int) -> torch.Tensor:
        logits = model(input_ids=batch["input_ids"]).logits[:, :-1].flatten(0, 1)
        wanted = batch["labels"][:, 1:].flatten()
        if way == 0:
            return cross_entropy(logits, wanted, reduction="sum") / labels
        if way == 1:
            each = cross_entropy(logits, wanted, reduction="none")
            return (each * (wanted >= 0)).sum() / torch.tensor(labels)
        return cross_entropy(logits, wanted) * (wanted.numel() / labels)

    def step(group: Any) -> float:
        optimizer.zero_grad()
        labels = sum(batch["labels"][:, 1:].numel() for batch in group)
        way = len(case.losses) % 3
        total = backwards(loss_of(batch, labels, way) for batch in group)
        optimizer.step()
        return total

    rows = [*batches(4, size=1, length=6), *batches(4, size=1, length=16, seed=1)]
    groups = [rows[0::3], rows[1::3], rows[2::3]]
    case = Case(model, optimizer, groups, step)
    return case


HEALTHY = Healthy(
    "the factor of each loss is another one, and divisors are no counts",
    looks_like=("GRD017", "GRD018"),
    steps=60,
)
