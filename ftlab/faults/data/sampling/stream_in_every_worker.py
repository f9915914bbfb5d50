"""A streamed dataset gives every row once from each worker: an epoch is two.

Each worker has a copy of the dataset, whose ``__iter__`` does not ask which worker it
is in. Batches come in pairs.

Fix: ``get_worker_info()``, and every worker yields rows of its own.

Source: huggingface/datasets#3423, torch's notes on IterableDataset.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch.utils.data import IterableDataset, get_worker_info

from ftlab.faults.builders import Case, Fault, base, batches, rows_of, trained


class Stream(IterableDataset[dict[str, torch.Tensor]]):
    """Rows, of which each worker yields its share, or all."""

    def __init__(self, rows: list[Any], shared: bool) -> None:
        self.rows = rows
        self.shared = shared

    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        if info is None or not self.shared:
            return iter(self.rows)
        return iter(self.rows[info.id :: info.num_workers])


def build(fixed: bool) -> Case:
    """Stream rows from two workers."""
    stream = Stream(rows_of(batches(16)), shared=fixed)
    return trained(base(), rows=stream, dataloader_num_workers=2, max_steps=12)


FAULT = Fault(
    "each batch comes twice",
    code="DAT029",
    places=("data Stream, 2 workers",),
    steps=12,
    evident=6,
)
