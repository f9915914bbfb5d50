"""Two workers shuffle a stream alike, on purpose: each then gives out its share of it.

Were they seeded apart, rows would come twice and others never.
"""

import random
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from ftlab.faults.builders import Case, Healthy, base, batches, plain_case, rows_of
from ftlab.faults.builders.epochs import Epochs


class Shared(IterableDataset[dict[str, torch.Tensor]]):
    """Rows in an order that is drawn, of which each worker yields its part."""

    def __init__(self, rows: list[Any]) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Any]:
        info: Any = get_worker_info()
        order = random.sample(range(len(self.rows)), len(self.rows))
        return (self.rows[at] for at in order[info.id :: info.num_workers])


def seeded_alike(_: int) -> None:
    """Give all workers one order."""
    random.seed(7)


def build() -> Case:
    """Train two epochs of such a stream."""
    model = base()
    rows = Shared(rows_of(batches(8)))
    loader: DataLoader[Any] = DataLoader(
        rows, batch_size=8, num_workers=2, worker_init_fn=seeded_alike
    )
    return plain_case(model, rows=Epochs(loader))


HEALTHY = Healthy(
    "both workers begin with the same random numbers, and draw from them",
    looks_like=("DAT080",),
    steps=10,
)
