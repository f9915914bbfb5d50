"""All workers are seeded with one number, and no row is made at random."""

from typing import Any

import numpy as np

from ftlab.faults.builders.noisy import Noisy, trained_on
from ftlab.faults.fault import Case, Healthy


def one_seed(_: int) -> None:
    """Seed NumPy, which nobody asks."""
    np.random.seed(0)  # noqa: NPY002  as people do


def in_the_middle(_: Any, stop: int) -> int:
    """Give always the same place."""
    return stop // 2


def build() -> Case:
    """Train on rows whose noise is always at one place, with a generator beside."""
    rows = Noisy(in_the_middle, np.random.default_rng(0))
    return trained_on(rows, worker_init_fn=one_seed)


HEALTHY = Healthy(
    "workers that are seeded alike, and a generator in each, which nothing draws from",
    looks_like=("DAT080",),
    steps=10,
)
