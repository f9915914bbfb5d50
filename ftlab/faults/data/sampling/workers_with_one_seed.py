"""Both workers of the loader draw the same noise: rows come in pairs of one mask.

``worker_init_fn`` seeds NumPy with one number in every worker, to be reproducible. What
each of them draws for its rows is what the other draws, and the same again in the next
epoch.

Fix: ``np.random.seed(torch.initial_seed() % 2**32)``, or no ``worker_init_fn``.

Source: torch, Reproducibility, DataLoader.
"""

import numpy as np
import torch

from ftlab.faults.builders.noisy import Noisy, trained_on, with_numpy
from ftlab.faults.fault import Case, Fault


def one_seed(_: int) -> None:
    """Seed NumPy as everybody does."""
    np.random.seed(0)  # noqa: NPY002  as people do


def own_seed(_: int) -> None:
    """Seed NumPy with the worker's own seed."""
    np.random.seed(torch.initial_seed() % (1 << 32))  # noqa: NPY002  likewise


def build(fixed: bool) -> Case:
    """Train on noisy rows that two workers make."""
    function = own_seed if fixed else one_seed
    return trained_on(Noisy(with_numpy), worker_init_fn=function)


FAULT = Fault(
    "augmentation helps less than it did without workers",
    code="DAT080",
    places=("object worker_init_fn: numpy.random",),
    steps=10,
    evident=4,
)
