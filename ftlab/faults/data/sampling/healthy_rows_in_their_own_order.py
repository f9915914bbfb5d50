"""Epochs that come in one order, on purpose: the loader does not shuffle."""

from typing import Any

from torch.utils.data import DataLoader

from ftlab.faults.builders import Case, Healthy, base, batches, plain_case, rows_of
from ftlab.faults.builders.epochs import Epochs


def build() -> Case:
    """Train on eight batches, easy ones first."""
    model = base()
    rows: Any = rows_of(batches(8))
    epochs = Epochs(DataLoader(rows, batch_size=len(rows) // 8))
    return plain_case(model, rows=epochs)


HEALTHY = Healthy(
    "each epoch begins with the same rows",
    looks_like=("DAT029",),
    steps=40,
)
