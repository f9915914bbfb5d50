"""Both workers draw the same noise, in each epoch again: the dataset keeps a generator.

``self.rng = np.random.default_rng(0)`` stands in ``__init__``. Each worker gets a copy
of it, and torch seeds only the global generators.

Fix: make it anew in ``worker_init_fn``, with ``torch.initial_seed()``.

Source: tanelp.github.io, "Using PyTorch + NumPy? You're making a mistake".
"""

from typing import Any

import numpy as np
import torch
from torch.utils.data import get_worker_info

from ftlab.faults.builders.noisy import Noisy, trained_on, with_own
from ftlab.faults.fault import Case, Fault


def made_anew(_: int) -> None:
    """Give this worker's copy of the dataset a generator of its own."""
    info: Any = get_worker_info()
    info.dataset.rng = np.random.default_rng(torch.initial_seed())


def build(fixed: bool) -> Case:
    """Train on rows that a generator of the dataset makes noisy."""
    rows = Noisy(with_own, np.random.default_rng(0))
    settings: dict[str, Any] = {"worker_init_fn": made_anew} if fixed else {}
    return trained_on(rows, **settings)


FAULT = Fault(
    "with workers, augmentation repeats itself",
    code="DAT080",
    places=("object Noisy.rng",),
    steps=10,
    evident=0,
)
