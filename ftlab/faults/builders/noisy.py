"""Rows in which a token is replaced at random, and loops over a loader of them."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from ftlab.faults.builders.epochs import Epochs
from ftlab.faults.builders.loops import plain_step
from ftlab.faults.builders.tiny import adamw, base, batches, rows_of
from ftlab.faults.fault import Case

SIZE = 8
"""Rows of a batch; four batches are an epoch."""


class Noisy(Dataset[dict[str, torch.Tensor]]):
    """Rows of which one token, wherever it is, is another one each time.

    Parameters
    ----------
    drawn
        Draws a place, from 0 up to a number.
    rng
        What it draws from, where that is no global generator.
    """

    def __init__(self, drawn: Callable[[Any, int], int], rng: Any = None) -> None:
        self.rows = rows_of(batches(8))
        self.drawn = drawn
        self.rng = rng

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, at: int) -> dict[str, torch.Tensor]:
        row = {name: values.clone() for name, values in self.rows[at].items()}
        row["input_ids"][self.drawn(self.rng, len(row["input_ids"]))] = 3
        return row


def with_python(_: Any, stop: int) -> int:
    """Draw from Python's generator."""
    return random.randrange(stop)


def with_numpy(_: Any, stop: int) -> int:
    """Draw from NumPy's global generator."""
    return int(np.random.randint(stop))  # noqa: NPY002  as people do


def with_own(rng: Any, stop: int) -> int:
    """Draw from a generator of the dataset's own."""
    return int(rng.integers(stop))


def trained_on(rows: Any, **settings: Any) -> Case:
    """Make the case of a loop over a loader with two workers."""
    model = base()
    optimizer = adamw(model)
    settings = {"batch_size": SIZE, "shuffle": True, "num_workers": 2} | settings
    epochs = Epochs(DataLoader(rows, **settings))
    return Case(model, optimizer, epochs, plain_step(model, optimizer))
