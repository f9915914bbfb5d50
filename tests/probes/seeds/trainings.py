"""Small trainings whose rows hang on random numbers, watched."""

import functools
import random

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

import ftlab
from ftlab.faults.builders.tiny import llama


class Augmented(Dataset):
    """Rows with a word that is dropped by chance, from Python's generator."""

    def __len__(self):
        return 16

    def __getitem__(self, index):
        ids = torch.arange(8) + 3 * index + 1
        ids[random.randrange(8)] = 0
        return {"input_ids": ids, "labels": ids.clone()}


def seeded(worker, more=0):
    """Seed Python's generator in a worker, the last one with another number."""
    random.seed(100 + worker + (more if worker == 1 else 0))


def seed_all(seed=0):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def train(
    *, seed=0, epochs=1, accumulation=1, before=None, more=None, rows=None, **settings
):
    """Train some steps; returns the run.

    Parameters
    ----------
    before
        Called before each batch is used, with its number.
    more
        Seeds the second worker so much higher.
    rows
        The dataset; `Augmented` by default.
    """
    model = llama(vocab_size=64)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    seed_all(seed)
    if more is not None:
        settings["worker_init_fn"] = functools.partial(seeded, more=more)
    rows = Augmented() if rows is None else rows
    loader = DataLoader(rows, **({"batch_size": 2, "shuffle": True} | settings))
    with ftlab.watch(model, optimizer) as watch:
        for _ in range(epochs):
            for number, batch in enumerate(loader):
                if before is not None:
                    before(number)
                model(**batch).loss.backward()
                if number % accumulation == accumulation - 1:
                    optimizer.step()
                    optimizer.zero_grad()
    return watch.run
