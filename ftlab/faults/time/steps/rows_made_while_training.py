"""Each row is read and prepared in `__getitem__`, on the thread that trains.

The device has nothing to do while the next batch is made.

Fix: prepare rows once with `dataset.map`, or in worker processes (`num_workers=4`).
Source: PyTorch, "Performance Tuning Guide", asynchronous data loading.
"""

import time
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

from ftlab.faults.builders import Case, Fault, adamw, batches, lora, plain_step

READING = 0.02
"""Seconds that a row takes."""


class Rows(Dataset[dict[str, torch.Tensor]]):
    """Rows that have to be read; the fixed ones have been."""

    def __init__(self, fixed: bool) -> None:
        self._fixed = fixed
        self._rows: list[dict[str, torch.Tensor]] = [
            {key: value[0] for key, value in batch.items()} for batch in batches(8)
        ]

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        if not self._fixed:
            time.sleep(READING)
        return self._rows[index]


def build(fixed: bool) -> Case:
    """Train from a loader in the main process."""
    model = lora()
    optimizer = adamw(model)
    train = plain_step(model, optimizer)
    loader = DataLoader(Rows(fixed), batch_size=2)
    given = iter(loader)

    def step(_: Any) -> float:
        nonlocal given
        batch = next(given, None)
        if batch is None:
            given = iter(loader)
            batch = next(given)
        return train(batch)

    return Case(model, optimizer, [None], step)


FAULT = Fault(
    "the GPU is used by a third, and nobody knows why",
    code="TIM001",
    places=("config num_workers",),
    steps=20,
    evident=12,
)
