"""Rows of one class, and a single row of another at the end, in their own order.

Any order of so few changes is as good as sorted.
"""

from typing import Any

import torch
from torch.utils.data import DataLoader

from ftlab.faults.builders import Case, Healthy, batches, plain_case, roberta, rows_of
from ftlab.faults.builders.epochs import Epochs


def build() -> Case:
    """Train a classifier on rows of a class that is rare."""
    model = roberta()
    rows: Any = rows_of(batches(12))
    for at, row in enumerate(rows):
        row["labels"] = torch.tensor(int(at == len(rows) - 1))
    epochs = Epochs(DataLoader(rows, batch_size=4))
    return plain_case(model, rows=epochs)


HEALTHY = Healthy(
    "labels that happen to be sorted",
    looks_like=("DAT029",),
    steps=24,
)
