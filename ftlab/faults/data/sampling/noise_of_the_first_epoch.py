"""Every epoch draws the noise of the first one, though each row's is drawn at random.

``worker_init_fn`` gives each worker a number of its own, and the same number whenever
workers begin, which is once in each epoch.

Fix: seed with ``torch.initial_seed()`` in it, or leave the seeds to torch.

Source: torch, Reproducibility, DataLoader.
"""

import random
from typing import Any

from ftlab.faults.builders.noisy import Noisy, trained_on, with_python
from ftlab.faults.fault import Case, Fault


def seeded(worker: int) -> None:
    """Seed Python's generator with the worker's number."""
    random.seed(100 + worker)


def build(fixed: bool) -> Case:
    """Train some epochs on noisy rows."""
    settings: dict[str, Any] = {} if fixed else {"worker_init_fn": seeded}
    return trained_on(Noisy(with_python), **settings)


FAULT = Fault(
    "augmented rows are learnt by heart like plain ones",
    code="DAT080",
    places=("object Noisy: Python's random",),
    steps=10,
    evident=4,
)
