"""The loss falls to nothing, jumps, and falls again: rows are sorted by their class.

The file has all rows of one class and then all of the next, and the loader gives them
in that order.

Fix: ``DataLoader(shuffle=True)``, or ``dataset.shuffle(seed)`` for a stream.

Source: transformers, Trainer: an IterableDataset is not shuffled.
"""

from typing import Any

import torch
from torch.utils.data import DataLoader

from ftlab.faults.builders import Case, Fault, batches, plain_case, rows_of, seeded
from ftlab.faults.builders.epochs import Epochs
from ftlab.faults.builders.zoo import LABELS, roberta

SIZE = 4


def build(fixed: bool) -> Case:
    """Train a classifier on rows of one class after the other."""
    model = roberta()
    rows: Any = rows_of(batches(12))
    for at, row in enumerate(rows):
        row["labels"] = torch.tensor(at * LABELS // len(rows))
    mixed: Any = {"shuffle": True, "generator": seeded()} if fixed else {}
    loader: Any = DataLoader(rows, batch_size=SIZE, **mixed)
    return plain_case(model, rows=Epochs(loader))


FAULT = Fault(
    "the loss jumps where the next class begins",
    code="DAT029",
    places=("data list, in order",),
    steps=12,
    evident=8,
)
